// Unigram with small vocabularies. The expected results come from the reference.

#include "tokenizer/models/unigram.h"

#include <gtest/gtest.h>

#include "tests/tokenizer/support.h"
#include "tokenizer/scratch.h"

namespace signalbox::tokenizer {
namespace {

using Pieces = std::vector<Unigram::Piece>;

struct Encoded {
  std::vector<int32_t> ids;
  Ranges spans;
  bool operator==(const Encoded&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Encoded& outcome) {
  for (size_t i = 0; i < outcome.ids.size(); ++i) {
    out << outcome.ids[i] << '(' << outcome.spans[i].first << '-' << outcome.spans[i].second
        << ") ";
  }
  return out;
}

Encoded encode_with(const Unigram& model, std::string_view text, ModelScratch& scratch) {
  std::vector<Token> tokens;
  model.tokenize(text, {0, static_cast<uint32_t>(text.size())}, scratch, tokens);
  Encoded outcome;
  for (const Token& token : tokens) {
    outcome.ids.push_back(token.id);
    outcome.spans.emplace_back(token.span.begin, token.span.end);
  }
  return outcome;
}

// Runs twice: the second time the word comes from the cache.
Encoded encode_with(const Pieces& pieces, std::string_view text, bool byte_fallback = false) {
  const Unigram model(pieces, 0, byte_fallback);
  ModelScratch scratch;
  const Encoded first = encode_with(model, text, scratch);
  EXPECT_EQ(encode_with(model, text, scratch), first);
  return first;
}

TEST(Unigram, takes_the_pieces_with_the_best_sum) {
  const Pieces pieces{{"<unk>", 0}, {"a", -1},    {"b", -1},    {"c", -1},
                      {"ab", -3},   {"bc", -1.5}, {"abc", -2.6}};
  EXPECT_EQ(encode_with(pieces, "abc"), (Encoded{{1, 5}, {{0, 1}, {1, 3}}}));
  EXPECT_EQ(encode_with(pieces, "ab"), (Encoded{{1, 2}, {{0, 1}, {1, 2}}}));
}

TEST(Unigram, the_first_path_wins_for_equal_sums) {
  const Pieces pieces{{"<unk>", 0}, {"a", -1}, {"aa", -1}};
  EXPECT_EQ(encode_with(pieces, "aaa"), (Encoded{{1, 2}, {{0, 1}, {1, 3}}}));
}

TEST(Unigram, unknown_neighbours_are_one_token) {
  const Pieces pieces{{"<unk>", 0}, {"a", -1}};
  EXPECT_EQ(encode_with(pieces, "xya\u00E9\u00E9"), (Encoded{{0, 1, 0}, {{0, 2}, {2, 3}, {3, 7}}}));
}

TEST(Unigram, the_unknown_piece_in_the_text_runs_together_with_unknown_text) {
  const Pieces pieces{{"<unk>", 0}, {"a", -1}};
  EXPECT_EQ(encode_with(pieces, "a<unk>xa"), (Encoded{{1, 0, 1}, {{0, 1}, {1, 7}, {7, 8}}}));
}

TEST(Unigram, an_unknown_character_costs_ten_more_than_the_worst_piece) {
  EXPECT_EQ(encode_with({{"<unk>", 0}, {"a", -1}, {"ax", -11.9}}, "ax"), (Encoded{{2}, {{0, 2}}}));
  // -1 - (20 + 10) > -31.5 - 1
  EXPECT_EQ(encode_with({{"<unk>", 0}, {"a", -1}, {"axb", -33}, {"b", -1}, {"q", -20}}, "axb"),
            (Encoded{{2}, {{0, 3}}}));
}

TEST(Unigram, unknown_text_that_is_a_piece_after_all_is_that_piece) {
  // Two unknown characters at 90 each score higher than the piece at 100.
  EXPECT_EQ(encode_with({{"<unk>", 200}, {"xy", 100}}, "xy"), (Encoded{{1}, {{0, 2}}}));
}

TEST(Unigram, the_last_of_equal_pieces_counts) {
  const Pieces pieces{{"<unk>", 0}, {"ab", -1}, {"a", -2}, {"b", -2}, {"ab", -9}};
  EXPECT_EQ(encode_with(pieces, "ab"), (Encoded{{2, 3}, {{0, 1}, {1, 2}}}));
}

Pieces with_bytes(Pieces pieces, int bytes) {
  static const auto names = [] {
    std::vector<std::string> list;
    for (int byte = 0; byte < 256; ++byte) list.push_back(fmt::format("<0x{:02X}>", byte));
    return list;
  }();
  for (int byte = 0; byte < bytes; ++byte) pieces.push_back({names[byte], 0});
  return pieces;
}

TEST(Unigram, unknown_text_falls_back_to_bytes_that_share_its_span) {
  const Pieces pieces = with_bytes({{"<unk>", 0}, {"a", -1}}, 256);
  EXPECT_EQ(encode_with(pieces, "a\u00E9x", true),
            (Encoded{{1, 2 + 0xC3, 2 + 0xA9, 2 + 'x'}, {{0, 1}, {1, 4}, {1, 4}, {1, 4}}}));
  EXPECT_EQ(encode_with(pieces, "a\u00E9", false), (Encoded{{1, 0}, {{0, 1}, {1, 3}}}));
}

TEST(Unigram, unknown_text_stays_whole_when_a_byte_of_it_has_no_piece) {
  const Pieces pieces = with_bytes({{"<unk>", 0}, {"a", -1}}, 0xA9);
  EXPECT_EQ(encode_with(pieces, "x\u00E9ax", true),
            (Encoded{{0, 1, 2 + 'x'}, {{0, 3}, {3, 4}, {4, 5}}}));
}

TEST(Unigram, takes_a_word_of_a_megabyte_whole) {
  const Pieces pieces{{"<unk>", 0}, {"a", -1}, {"aaa", -1.5}, {"ab", -1.2}};
  const Unigram model(pieces, 0, false);
  ModelScratch scratch;
  std::string word(1 << 20, 'a');
  EXPECT_EQ(encode_with(model, word, scratch).ids.size(), (size_t{1} << 20) / 3 + 1);
  word.assign(1 << 20, 'x');
  EXPECT_EQ(encode_with(model, word, scratch), (Encoded{{0}, {{0, 1 << 20}}}));
}

// The layout in which DeBERTa's tokenizers are published. The text is split at [MASK] first, and
// the normaliser then removes the spaces around each part.
TEST(Unigram, reads_the_layout_of_debertas_tokenizers) {
  const auto tokenizer =
      Tokenizer::parse(read_file(data_file("deberta.json")), "deberta.json").value();
  Encoding found;
  tokenizer->encode("  hello,   the routers! [MASK] a\u00E9\n", {.tokens_max = 0}, found);
  EXPECT_EQ(found.ids, (std::vector<int32_t>{1, 9, 10, 5, 6, 7, 8, 12, 15, 14, 3, 2}));
  tokenizer->encode_pair("hello", "the world", {.tokens_max = 0}, found);
  EXPECT_EQ(found.ids, (std::vector<int32_t>{1, 9, 2, 5, 11, 2}));
  EXPECT_EQ(found.type_ids, (std::vector<uint8_t>{0, 0, 0, 1, 1, 1}));
}

}  // namespace
}  // namespace signalbox::tokenizer
