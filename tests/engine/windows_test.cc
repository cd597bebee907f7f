// Pieces end where the text does: what somebody has put between paragraphs stands by itself.

#include "engine/windows.h"

#include <gtest/gtest.h>

#include <string>

#include "base/ascii.h"

namespace signalbox::engine {
namespace {

// A token a word.
std::vector<tokenizer::Span> words_of(std::string_view text) {
  std::vector<tokenizer::Span> out;
  for (uint32_t at = 0; at < text.size(); ++at) {
    if (ascii::is_space(text[at])) continue;
    if (at == 0 || ascii::is_space(text[at - 1])) out.push_back({at, at});
    out.back().end = at + 1;
  }
  return out;
}

std::vector<std::string_view> cut(std::string_view text, size_t room, size_t overlap) {
  return cut_windows(text, words_of(text), room, overlap);
}

using Pieces = std::vector<std::string_view>;

TEST(CutWindows, end_after_paragraphs_lines_sentences_and_words_in_this_order) {
  EXPECT_EQ(cut("a b c d e\n\nf g. h\ni j k", 8, 0), (Pieces{"a b c d e\n\n", "f g. h\ni j k"}));
  EXPECT_EQ(cut("a b c d e\nf g. h i j k", 8, 0), (Pieces{"a b c d e\n", "f g. h i j k"}));
  EXPECT_EQ(cut("a b c d e? f g h i j k", 8, 0), (Pieces{"a b c d e? ", "f g h i j k"}));
  EXPECT_EQ(cut("a b c d e f g h i j k", 8, 0), (Pieces{"a b c d e f g h ", "i j k"}));
}

TEST(CutWindows, take_the_last_of_equal_ends_in_their_second_half) {
  EXPECT_EQ(cut("a\n\nb c d\n\ne f\n\ng h i", 8, 0), (Pieces{"a\n\nb c d\n\ne f\n\n", "g h i"}));
  EXPECT_EQ(cut("a\n\nb c d e f g h i", 8, 0), (Pieces{"a\n\nb c d e f g h ", "i"}));
}

TEST(CutWindows, share_what_begins_where_the_text_does) {
  EXPECT_EQ(cut("a b c d e f g h i j", 8, 2), (Pieces{"a b c d e f g h ", "g h i j"}));
  EXPECT_EQ(cut("a b c d e. f g. h i j", 8, 3), (Pieces{"a b c d e. f g. ", "f g. h i j"}));
  EXPECT_EQ(cut("a b c d e f g\n\nh i j", 8, 3), (Pieces{"a b c d e f g\n\n", "h i j"}));
}

TEST(CutWindows, know_the_sentences_of_scripts_without_spaces) {
  const std::string_view text = "\u6839\u636E\u3002\u6839\u636E\u6839\u636E";
  std::vector<tokenizer::Span> characters;
  for (uint32_t at = 0; at < text.size(); at += 3) characters.push_back({at, at + 3});
  EXPECT_EQ(cut_windows(text, characters, 4, 0), (Pieces{text.substr(0, 9), text.substr(9)}));
}

TEST(CutWindows, cut_no_character_that_is_several_tokens) {
  const std::string_view text = "\U0001F600\U0001F601";
  const std::vector<tokenizer::Span> tokens{{0, 4}, {0, 4}, {0, 4}, {4, 8}, {4, 8}, {4, 8}};
  EXPECT_EQ(cut_windows(text, tokens, 4, 0), (Pieces{text.substr(0, 4), text.substr(4)}));
}

TEST(CutWindows, hold_all_of_a_text_without_an_end_and_nothing_of_one_without_tokens) {
  EXPECT_EQ(cut("  a b  ", 8, 2), (Pieces{"  a b  "}));
  EXPECT_TRUE(cut("   ", 8, 2).empty());
  const std::string word(40, 'x');
  std::vector<tokenizer::Span> letters;
  for (uint32_t at = 0; at < word.size(); ++at) letters.push_back({at, at + 1});
  size_t covered = 0;
  for (const std::string_view piece : cut_windows(word, letters, 16, 4)) {
    const auto begin = static_cast<size_t>(piece.data() - word.data());
    EXPECT_EQ(begin, covered == 0 ? 0 : covered - 4);
    EXPECT_LE(piece.size(), 16u);
    covered = begin + piece.size();
  }
  EXPECT_EQ(covered, word.size());
}

}  // namespace
}  // namespace signalbox::engine
