// Byte pair encoding compared with the simplest implementation, over random vocabularies. Splitting
// words, caching them and both merge algorithms must give the same result as rescanning a whole
// word for the lowest rank.

#include <map>
#include <random>

#include "tests/tokenizer/support.h"
#include "tokenizer/hf/sections.h"
#include "tokenizer/scratch.h"

namespace signalbox::tokenizer {
namespace {

using Random = std::mt19937;

struct Grammar {
  std::vector<std::string> pieces;  // by id
  std::vector<std::pair<std::string, std::string>> merges;

  int32_t id(std::string_view piece) const {
    const auto found = std::find(pieces.begin(), pieces.end(), piece);
    return found == pieces.end() ? -1 : static_cast<int32_t>(found - pieces.begin());
  }
};

size_t below(Random& random, size_t end) {
  return std::uniform_int_distribution<size_t>(0, end - 1)(random);
}

const std::vector<std::string> kCharacters = {"a", "b", "c", "d", "\xC3\xA9", "\xE2\x96\x81"};

Grammar make_grammar(Random& random, size_t characters, size_t merges) {
  Grammar grammar;
  grammar.pieces.assign(kCharacters.begin(),
                        kCharacters.begin() + static_cast<std::ptrdiff_t>(characters));
  for (size_t i = 0; i < merges; ++i) {
    const std::string left = grammar.pieces[below(random, grammar.pieces.size())];
    const std::string right = grammar.pieces[below(random, grammar.pieces.size())];
    if (left.size() + right.size() > 24) continue;
    grammar.merges.emplace_back(left, right);
    if (grammar.id(left + right) < 0) grammar.pieces.push_back(left + right);
  }
  return grammar;
}

// `fallback`: includes the 256 byte tokens, which make every text known and allow splitting words.
std::string model_json(const Grammar& grammar, bool fallback, bool pairs) {
  json::Writer out;
  out.begin_object().member("type", "BPE").member("byte_fallback", fallback).key("vocab");
  out.begin_object();
  int32_t id = 0;
  for (const std::string& piece : grammar.pieces) out.member(piece, id++);
  for (int byte = 0; fallback && byte < 256; ++byte) {
    out.member(fmt::format("<0x{:02X}>", byte), id++);
  }
  out.end_object().key("merges").begin_array();
  for (const auto& [left, right] : grammar.merges) {
    if (pairs) {
      out.begin_array().string(left).string(right).end_array();
    } else {
      out.string(fmt::format("{} {}", left, right));
    }
  }
  return out.end_array().end_object().take();
}

// Returns the rank of each pair; for a duplicate rule, the last.
std::map<std::pair<std::string, std::string>, size_t> ranks_of(const Grammar& grammar) {
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t i = 0; i < grammar.merges.size(); ++i) ranks[grammar.merges[i]] = i;
  return ranks;
}

std::vector<std::string> plainest(const Grammar& grammar, std::vector<std::string> parts) {
  const auto ranks = ranks_of(grammar);
  while (true) {
    size_t best = parts.size();
    size_t best_rank = SIZE_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found == ranks.end() || found->second >= best_rank) continue;
      best = i;
      best_rank = found->second;
    }
    if (best == parts.size()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

std::vector<std::string> random_word(Random& random, size_t characters, size_t length) {
  std::vector<std::string> word;
  for (size_t i = 0; i < length; ++i) word.push_back(kCharacters[below(random, characters)]);
  return word;
}

std::vector<std::string> tokens_of(const Model& model, const Grammar& grammar,
                                   const std::string& text, ModelScratch& scratch) {
  std::vector<Token> tokens;
  model.tokenize(text, {0, static_cast<uint32_t>(text.size())}, scratch, tokens);
  std::vector<std::string> out;
  for (const Token& token : tokens) {
    out.push_back(text.substr(token.span.begin, token.span.end - token.span.begin));
    EXPECT_EQ(out.back(), grammar.pieces.at(static_cast<size_t>(token.id)));
  }
  return out;
}

TEST(Bpe, merges_as_rescanning_the_whole_word_does) {
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const size_t characters = 2 + below(random, kCharacters.size() - 1);
    const Grammar grammar = make_grammar(random, characters, 1 + below(random, 60));
    const auto document =
        json::Document::parse(model_json(grammar, round % 2 == 0, round % 3 == 0));
    const auto loaded = read_bpe(Field(document->root(), "model"), false, nullptr);
    ASSERT_TRUE(loaded) << loaded.error().message;
    ModelScratch scratch;
    for (int i = 0; i < 60; ++i) {
      const size_t length = i < 40 ? 1 + below(random, 12) : 1 + below(random, 150);
      const auto word = random_word(random, characters, length);
      std::string text;
      for (const std::string& character : word) text += character;
      ASSERT_EQ(tokens_of(*loaded->model, grammar, text, scratch), plainest(grammar, word)) << text;
    }
  }
}

TEST(Bpe, a_word_of_a_megabyte_is_merged) {
  const Grammar grammar = {{"a", "b", "ab", "abab"}, {{"a", "b"}, {"ab", "ab"}}};
  const auto document = json::Document::parse(model_json(grammar, false, false));
  const auto loaded = read_bpe(Field(document->root(), "model"), false, nullptr);
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::string text;
  while (text.size() < (size_t{1} << 20)) text += "ab";
  ModelScratch scratch;
  std::vector<Token> tokens;
  loaded->model->tokenize(text, {0, static_cast<uint32_t>(text.size())}, scratch, tokens);
  EXPECT_EQ(tokens.size(), text.size() / 4);
  EXPECT_EQ(tokens.back().span.end, text.size());
}

TEST(Bpe, two_tokenizers_on_one_thread_keep_their_words_apart) {
  ModelScratch scratch;
  const Grammar first = {{"a", "b", "ab"}, {{"a", "b"}}};
  const Grammar second = {{"b", "a"}, {}};
  for (int round = 0; round < 3; ++round) {
    for (const Grammar* grammar : {&first, &second}) {
      const auto document = json::Document::parse(model_json(*grammar, false, false));
      const auto loaded = read_bpe(Field(document->root(), "model"), false, nullptr);
      ASSERT_TRUE(loaded);
      for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(tokens_of(*loaded->model, *grammar, "ab", scratch),
                  plainest(*grammar, {"a", "b"}));
      }
    }
  }
}

}  // namespace
}  // namespace signalbox::tokenizer
