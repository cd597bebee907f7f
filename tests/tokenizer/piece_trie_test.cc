// The double array compared with a plain search.

#include "tokenizer/models/piece_trie.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace signalbox::tokenizer {
namespace {

using Found = std::vector<std::pair<uint32_t, int32_t>>;  // bytes and id

Found prefixes(const PieceTrie& trie, std::string_view text) {
  Found found;
  trie.for_each_prefix(text, [&](uint32_t bytes, double score, uint32_t node) {
    EXPECT_EQ(score, -trie.id(node));
    found.emplace_back(bytes, trie.id(node));
  });
  return found;
}

PieceTrie trie_of(const std::map<std::string, int32_t>& pieces) {
  std::vector<PieceTrie::Piece> list;
  for (const auto& [text, id] : pieces) list.push_back({text, static_cast<double>(-id), id});
  return PieceTrie(list);
}

TEST(PieceTrie, finds_every_piece_that_a_text_begins_with) {
  const PieceTrie trie = trie_of({{"a", 1}, {"ab", 2}, {"abcd", 3}, {"b", 4}});
  EXPECT_EQ(prefixes(trie, "abcde"), (Found{{1, 1}, {2, 2}, {4, 3}}));
  EXPECT_EQ(prefixes(trie, "abc"), (Found{{1, 1}, {2, 2}}));
  EXPECT_EQ(prefixes(trie, "cab"), Found{});
  EXPECT_EQ(prefixes(trie, ""), Found{});
}

TEST(PieceTrie, without_pieces_finds_nothing) {
  const PieceTrie trie({});
  EXPECT_EQ(prefixes(trie, "a"), Found{});
  EXPECT_EQ(prefixes(trie, std::string(3, '\0')), Found{});
}

TEST(PieceTrie, takes_nul_for_a_byte_like_others) {
  const std::string nul(1, '\0');
  EXPECT_EQ(prefixes(trie_of({{"a", 1}}), nul + "a"), Found{});  // once led back to the root
  EXPECT_EQ(prefixes(trie_of({{"a" + nul, 1}, {nul, 2}}), "a" + nul), (Found{{2, 1}}));
  EXPECT_EQ(prefixes(trie_of({{"a" + nul, 1}, {nul, 2}}), nul + "a"), (Found{{1, 2}}));
}

TEST(PieceTrie, agrees_with_a_search_among_many_pieces) {
  std::map<std::string, int32_t> pieces;
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (int32_t id = 0; id < 20'000; ++id) {
    std::string piece;
    for (uint32_t size = 1 + next() % 6; piece.size() < size;) {
      piece.push_back(static_cast<char>(next() % 3 == 0 ? next() % 256 : 'a' + next() % 4));
    }
    pieces.emplace(piece, id);
  }
  const PieceTrie trie = trie_of(pieces);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    while (text.size() < 7) {
      text.push_back(static_cast<char>(next() % 9 == 0 ? next() % 256 : 'a' + next() % 4));
    }
    Found expected;
    for (uint32_t bytes = 1; bytes <= text.size(); ++bytes) {
      const auto piece = pieces.find(text.substr(0, bytes));
      if (piece != pieces.end()) expected.emplace_back(bytes, piece->second);
    }
    ASSERT_EQ(prefixes(trie, text), expected) << text;
  }
}

}  // namespace
}  // namespace signalbox::tokenizer
