// Clusters of all code points in several contexts, as a digest taken when all of them agreed with
// the reference (tokenizers 0.23.2, queried through a Precompiled normalizer that replaces each
// cluster by one letter), and cases that demonstrate the rules.

#include "tokenizer/normalize/graphemes.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/utf8.h"

namespace signalbox::tokenizer {
namespace {

using Sizes = std::vector<uint32_t>;  // cluster sizes in code points

Sizes clusters(std::string_view text) {
  Sizes sizes;
  for (uint32_t i = 0; i < text.size();) {
    const uint32_t end = grapheme_end(text, i);
    sizes.push_back(static_cast<uint32_t>(utf8::count(text.substr(i, end - i))));
    i = end;
  }
  return sizes;
}

// Long ranges with equal properties are sampled.
char32_t step_after(char32_t c) {
  const bool uniform = (c >= 0x3400 && c < 0xA000) || (c >= 0xAC00 && c < 0xD780) ||
                       (c >= 0x20000 && c < 0xE0000) || c >= 0xE1000;
  return uniform ? 97 : 1;
}

TEST(Graphemes, every_code_point_joins_its_neighbours_as_in_the_reference) {
  constexpr std::array<std::string_view, 15> kBefore = {
      "a",      "",       "", "\u0600", "\u00A9\u200D", "\u0915\u094D",
      "\u0915", "\u0915", "", "\u1100", "\uAC00",       "\uAC01",
      "",       "\u0300", ""};
  constexpr std::array<std::string_view, 15> kAfter = {"",
                                                       "a",
                                                       "\u0300",
                                                       "",
                                                       "",
                                                       "\u0300",
                                                       "\u0915\u0300",
                                                       "\u094D\u0915\u0300",
                                                       "\u0300\u0300",
                                                       "\u0300a",
                                                       "\u0300",
                                                       "\u0300",
                                                       "\u200D\u00A9",
                                                       "",
                                                       "\u0903"};
  uint64_t digest = 0xCBF29CE484222325;
  for (char32_t c = 1; c <= 0x10FFFF; c += step_after(c)) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    for (size_t i = 0; i < kBefore.size(); ++i) {
      std::string text(kBefore[i]);
      utf8::append(text, c);
      text += kAfter[i];
      for (uint32_t begin = 0; begin < text.size();) {
        begin = grapheme_end(text, begin);
        digest = (digest ^ begin) * 0x100000001B3;  // FNV-1a
      }
    }
  }
  EXPECT_EQ(digest, 0x966E4CB3D8D26304u);
}

TEST(Graphemes, marks_stay_with_their_characters) {
  EXPECT_EQ(clusters("ae\u0301\u0302b"), (Sizes{1, 3, 1}));
  EXPECT_EQ(clusters("\u0E01\u0E33"), Sizes{2});
  EXPECT_EQ(clusters("\u0301a"), (Sizes{1, 1}));
  EXPECT_EQ(clusters("\n\u0301"), (Sizes{1, 1}));
}

TEST(Graphemes, each_line_end_is_one_cluster) {
  EXPECT_EQ(clusters("\r\n\n\r\r\n"), (Sizes{2, 1, 1, 2}));
}

TEST(Graphemes, hangul_letters_make_syllables) {
  EXPECT_EQ(clusters("\u1100\u1161\u11A8\u1100"), (Sizes{3, 1}));
  EXPECT_EQ(clusters("\uAC00\u11A8\u1161"), (Sizes{2, 1}));
}

TEST(Graphemes, flags_come_in_pairs) {
  EXPECT_EQ(clusters("\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7\U0001F1EB"), (Sizes{2, 2, 1}));
  EXPECT_EQ(clusters("\U0001F1E9\u0301\U0001F1EA"), (Sizes{2, 1}));
}

TEST(Graphemes, pictographs_are_joined_by_one_joiner) {
  EXPECT_EQ(clusters("\u00A9\u200D\u00A9"), Sizes{3});
  EXPECT_EQ(clusters("\u00A9\u0301\u200D\u00A9\u200D\u00A9"), Sizes{6});
  EXPECT_EQ(clusters("\u00A9\u200D\u200D\u00A9"), (Sizes{3, 1}));
  EXPECT_EQ(clusters("\u00A9\u200D\u0301\u200D\u00A9"), (Sizes{4, 1}));
  EXPECT_EQ(clusters("a\u200D\u00A9"), (Sizes{2, 1}));
}

TEST(Graphemes, consonants_are_joined_by_a_linker) {
  EXPECT_EQ(clusters("\u0915\u094D\u0937"), Sizes{3});
  EXPECT_EQ(clusters("\u0915\u094D\u200D\u0937"), Sizes{4});
  EXPECT_EQ(clusters("\u0915\u094D\u200C\u0937"), (Sizes{3, 1}));
  EXPECT_EQ(clusters("\u0915\u0937"), (Sizes{1, 1}));
  EXPECT_EQ(clusters("a\u094D\u0937"), (Sizes{2, 1}));
}

TEST(Graphemes, a_prepended_mark_joins_the_next_character) {
  EXPECT_EQ(clusters("\u0600a"), Sizes{2});
  EXPECT_EQ(clusters("\u0600\n"), (Sizes{1, 1}));
}

}  // namespace
}  // namespace signalbox::tokenizer
