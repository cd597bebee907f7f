// The flat table compared with a plain search.

#include "tokenizer/models/vocabulary.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

namespace signalbox::tokenizer {
namespace {

TEST(Vocabulary, empty_finds_nothing) {
  const Vocabulary vocabulary{{}};
  EXPECT_EQ(vocabulary.find("a"), -1);
  EXPECT_EQ(vocabulary.find(""), -1);
  EXPECT_EQ(vocabulary.longest("abc").id, -1);
  EXPECT_EQ(Vocabulary().find("a"), -1);
  EXPECT_EQ(Vocabulary().longest("a").id, -1);
}

TEST(Vocabulary, finds_every_piece_and_nothing_else) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 20'000; ++i) pieces.push_back(fmt::format("p{}", i * 7));
  std::vector<Vocabulary::Entry> entries;
  for (size_t i = 0; i < pieces.size(); ++i)
    entries.push_back({pieces[i], static_cast<int32_t>(i)});
  const Vocabulary vocabulary(entries);
  for (size_t i = 0; i < pieces.size(); ++i)
    ASSERT_EQ(vocabulary.find(pieces[i]), static_cast<int32_t>(i));
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(vocabulary.find(fmt::format("p{}", i * 7 + 1)), -1);
}

TEST(Vocabulary, longest_takes_the_longest_head) {
  const Vocabulary vocabulary({{"a", 0}, {"ab", 1}, {"abcd", 2}, {"", 3}});
  EXPECT_EQ(vocabulary.longest("abcd").id, 2);
  EXPECT_EQ(vocabulary.longest("abcx").id, 1);
  EXPECT_EQ(vocabulary.longest("abcx").length, 2u);
  EXPECT_EQ(vocabulary.longest("axxxxxxxxx").id, 0);
  EXPECT_EQ(vocabulary.longest("x").id, -1);
  EXPECT_EQ(vocabulary.longest("").id, -1);
}

TEST(Vocabulary, pieces_with_nul_bytes_differ) {
  using std::string_view_literals::operator""sv;
  const Vocabulary vocabulary({{"\0"sv, 0}, {"\0\0"sv, 1}, {"a\0"sv, 2}});
  EXPECT_EQ(vocabulary.find("\0\0"sv), 1);
  EXPECT_EQ(vocabulary.find("a"sv), -1);
  EXPECT_EQ(vocabulary.longest("\0\0\0"sv).length, 2u);
}

}  // namespace
}  // namespace signalbox::tokenizer
