// Ranking leaves out words that are in a fifth of all sentences: they distinguish nothing and have
// the longest lists.

#include "router/safety/grounding/sentence_index.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "router/text/facts.h"

namespace signalbox::grounding {
namespace {

using namespace text;

constexpr size_t kFewSentences = 40;  // up to which every word counts
constexpr size_t kSharedMin = 2;      // shared content words, if there are as many

// Words are compared by their first letters, so that plurals and tenses match.
std::string_view key_of(const Token& token) {
  constexpr size_t kStem = 6;
  return token.kind == TokenKind::kWord ? token.lower.substr(0, kStem) : token.lower;
}

bool is_content(const Token& token) {
  return token.kind != TokenKind::kSymbol && !is_common_word(token.lower);
}

}  // namespace

SentenceIndex::SentenceIndex(const ReadText& text) : text_(text) {
  for (uint32_t s = 0; s < text.sentences().size(); ++s) {
    const Sentence& sentence = text.sentences()[s];
    for (uint32_t i = sentence.first_token; i < sentence.last_token; ++i) {
      if (!is_content(text.at(i))) continue;
      auto& of = sentences_of_[key_of(text.at(i))];
      if (of.empty() || of.back() != s) of.push_back(s);
    }
  }
}

std::vector<float> SentenceIndex::scores(const ReadText& answer, uint32_t first_token,
                                         uint32_t last_token) const {
  const size_t count = text_.sentences().size();
  std::vector<float> out(count);
  std::unordered_set<std::string_view> seen;
  for (uint32_t i = first_token; i < last_token; ++i) {
    if (!is_content(answer.at(i)) || !seen.insert(key_of(answer.at(i))).second) continue;
    const auto found = sentences_of_.find(key_of(answer.at(i)));
    if (found == sentences_of_.end()) continue;
    const auto& of = found->second;
    if (count > kFewSentences && of.size() > count / 5) continue;
    const auto weight = static_cast<float>(
        std::log(1 + static_cast<double>(count) / static_cast<double>(of.size())));
    for (const uint32_t s : of) out[s] += weight;
  }
  for (size_t s = 0; s < count; ++s) {
    const Sentence& sentence = text_.sentences()[s];
    const auto length = static_cast<double>(sentence.last_token - sentence.first_token);
    out[s] /= static_cast<float>(1 + 0.1 * std::log(1 + length));
  }
  return out;
}

// True if the sentence begins with a pronoun, whose meaning is in the previous sentence.
bool SentenceIndex::continues(uint32_t sentence) const {
  if (sentence >= text_.sentences().size()) return false;
  return is_one_of(text_.at(text_.sentences()[sentence].first_token).lower,
                   {"it", "its", "he", "his", "she", "her", "they", "their", "this", "these"});
}

std::vector<uint32_t> SentenceIndex::restated_by(const ReadText& answer,
                                                 const Sentence& sentence) const {
  std::unordered_set<std::string_view> words;
  std::vector<uint32_t> shared(text_.sentences().size());
  for (uint32_t i = sentence.first_token; i < sentence.last_token; ++i) {
    const Token& token = answer.at(i);
    if (token.kind != TokenKind::kWord || !is_content(token) ||
        dimension_of(token.lower) != Dimension::kNone || !words.insert(key_of(token)).second)
      continue;
    const auto found = sentences_of_.find(key_of(token));
    if (found == sentences_of_.end()) continue;
    uint32_t counted = 0;  // the first sentence that has not counted the word
    for (const uint32_t s : found->second) {
      if (s >= counted) ++shared[s];
      counted = s + 1;
      if (!continues(s + 1)) continue;
      ++shared[s + 1];
      counted = s + 2;
    }
  }
  std::vector<uint32_t> out;
  const size_t least = std::clamp<size_t>(words.size(), 1, kSharedMin);
  for (uint32_t s = 0; s < shared.size(); ++s) {
    if (shared[s] >= least && shared[s] * 2 >= words.size()) out.push_back(s);
  }
  return out;
}

std::vector<uint32_t> best(const std::vector<float>& scores, size_t count) {
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  count = std::min(count, order.size());
  const auto higher = [&](uint32_t a, uint32_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    higher);
  order.resize(count);
  std::erase_if(order, [&](uint32_t i) { return scores[i] <= 0; });
  return order;
}

}  // namespace signalbox::grounding
