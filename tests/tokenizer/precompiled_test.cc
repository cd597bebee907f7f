// The Precompiled normalizer with small rule tables, and invalid tables. The expected results come
// from the reference.

#include "tokenizer/normalize/precompiled.h"

#include <gtest/gtest.h>

#include "tests/tokenizer/charsmap.h"

namespace signalbox::tokenizer {
namespace {

using Rules = std::vector<std::pair<std::string, std::string>>;

struct NormalizedText {
  std::string text;
  std::vector<std::pair<uint32_t, uint32_t>> spans;  // of each character
  bool operator==(const NormalizedText&) const = default;
};

std::ostream& operator<<(std::ostream& out, const NormalizedText& outcome) {
  out << '"' << outcome.text << '"';
  for (const auto& [begin, end] : outcome.spans) out << ' ' << begin << '-' << end;
  return out;
}

NormalizedText normalize(const Rules& rules, std::string_view text, uint32_t base = 0) {
  const auto precompiled = Precompiled::parse(charsmap(rules));
  EXPECT_TRUE(precompiled) << precompiled.error().message;
  Normalized out;
  (*precompiled)->normalize(TextView(text, base), out);
  NormalizedText outcome{out.text, {}};
  for (size_t i = 0; i < out.text.size(); ++i) {
    if ((static_cast<unsigned char>(out.text[i]) & 0xC0) == 0x80) continue;
    outcome.spans.emplace_back(out.source[i].begin, out.source[i].end);
  }
  return outcome;
}

TEST(Precompiled, replaces_character_by_character) {
  const Rules rules{{"A", "a"}, {"\u00E9", "e"}};
  EXPECT_EQ(normalize(rules, "xAy\u00E9z"),
            (NormalizedText{"xayez", {{0, 1}, {1, 2}, {2, 3}, {3, 5}, {5, 6}}}));
  EXPECT_EQ(normalize(rules, "xA", 7), (NormalizedText{"xa", {{7, 8}, {8, 9}}}));
}

TEST(Precompiled, a_short_cluster_is_replaced_whole_by_the_rule_of_its_beginning) {
  const Rules rules{{"e", "E"}, {"\r", " "}};
  EXPECT_EQ(normalize(rules, "e\u0301x"), (NormalizedText{"Ex", {{0, 1}, {3, 4}}}));
  EXPECT_EQ(normalize(rules, "\r\nx"), (NormalizedText{" x", {{0, 1}, {2, 3}}}));
}

TEST(Precompiled, the_shortest_rule_wins) {
  EXPECT_EQ(normalize({{"e", "1"}, {"e\u0301", "2"}}, "e\u0301").text, "1");
  EXPECT_EQ(normalize({{"e\u0301", "2"}}, "e\u0301").text, "2");
}

TEST(Precompiled, a_cluster_of_six_bytes_is_taken_character_by_character) {
  const Rules rules{{"e", "E"}, {"e\u0301", "x"}};
  EXPECT_EQ(normalize(rules, "e\u0301\u0302").text, "E");                          // five bytes
  EXPECT_EQ(normalize(rules, "e\u0301\u0302\u0303").text, "E\u0301\u0302\u0303");  // seven
}

TEST(Precompiled, an_expansion_stands_for_the_character_it_replaces) {
  EXPECT_EQ(normalize({{"\uFB01", "fi"}}, "a\uFB01b"),
            (NormalizedText{"afib", {{0, 1}, {1, 4}, {1, 4}, {4, 5}}}));
}

TEST(Precompiled, a_removal_in_the_middle_does_not_move_later_characters) {
  const Rules rules{{"\x01", ""}, {"\uFB01", "fi"}};
  EXPECT_EQ(normalize(rules,
                      "a\x01\x01"
                      "b"),
            (NormalizedText{"ab", {{0, 1}, {3, 4}}}));
  // The last character of an expansion counts as the replacement of the removed one.
  EXPECT_EQ(normalize(rules,
                      "\uFB01\x01"
                      "b"),
            (NormalizedText{"fib", {{0, 3}, {3, 4}, {4, 5}}}));
}

TEST(Precompiled, a_removal_at_the_beginning_moves_everything) {
  EXPECT_EQ(normalize({{"\x01", ""}},
                      "\x01"
                      "ab",
                      5),
            (NormalizedText{"ab", {{5, 6}, {6, 7}}}));
}

TEST(Precompiled, nul_has_no_rule) {
  EXPECT_EQ(normalize({{"a", "b"}}, std::string_view("\0a", 2)).text, std::string("\0b", 2));
}

TEST(Precompiled, may_be_cut_at_spaces_unless_the_text_begins_with_a_removal) {
  const auto table = Precompiled::parse(charsmap({{"\x01", ""}, {"\n", " "}, {"\u0600", ""}}));
  ASSERT_TRUE(table);
  EXPECT_TRUE((*table)->is_local_in("a\x01 b"));
  EXPECT_TRUE((*table)->is_local_in("\n"));
  EXPECT_TRUE((*table)->is_local_in("\u00E9\u0301\u0302\u0303"));
  EXPECT_FALSE(
      (*table)->is_local_in("\x01"
                            "a"));
  EXPECT_FALSE((*table)->is_local_in("\u0600\xFF"));  // the result is unknown
  EXPECT_TRUE((*Precompiled::parse(charsmap({{"A", "a"}})))->is_local_in("a"));
  const Rules moving[] = {{{" ", "_"}}, {{"a", " "}}, {{"a", ""}}, {{"a", "b "}}};
  for (const Rules& rules : moving) {
    EXPECT_FALSE((*Precompiled::parse(charsmap(rules)))->is_local_in("x")) << rules[0].first;
  }
}

TEST(Precompiled, keeps_ascii_without_a_rule) {
  const auto precompiled = Precompiled::parse(charsmap({{"\n", " "}}));
  ASSERT_TRUE(precompiled);
  EXPECT_TRUE((*precompiled)->keeps("plain text"));
  EXPECT_FALSE((*precompiled)->keeps("two\nlines"));
  EXPECT_FALSE((*precompiled)->keeps("caf\u00E9"));  // not examined, so false
}

std::string charsmap_error(std::string_view blob) {
  const auto precompiled = Precompiled::parse(blob);
  if (precompiled) return "none";
  EXPECT_EQ(precompiled.error().code, Code::kCorrupt);
  return precompiled.error().message;
}

std::string with_unit(std::string blob, size_t unit, uint32_t value) {
  std::string bytes;
  append_u32(bytes, value);
  return blob.replace(4 + 4 * unit, 4, bytes);
}

TEST(Precompiled, a_table_that_leads_outside_of_itself_is_refused) {
  const std::string good = charsmap({{"a", "\u00E9"}});
  EXPECT_EQ(charsmap_error(good), "none");
  EXPECT_EQ(charsmap_error(""), "0 bytes, expected at least 4");
  EXPECT_EQ(charsmap_error(good.substr(0, 100)),
            "claims a trie of 3072 bytes, expected a multiple of 4 among the 96 that follow");
  EXPECT_EQ(charsmap_error(std::string("\x05\0\0\0abcdefgh", 12)),
            "claims a trie of 5 bytes, expected a multiple of 4 among the 8 that follow");
  EXPECT_EQ(charsmap_error(std::string(4, '\0')),
            "claims a trie of 0 bytes, expected a multiple of 4 among the 0 that follow");
  EXPECT_EQ(charsmap_error(good + "\xFF"), "replacements: not UTF-8");
  EXPECT_EQ(charsmap_error(with_unit(good, 512, 0x80000000 | 1000)),
            "trie: a replacement at byte 1000 of 3");
  EXPECT_EQ(charsmap_error(with_unit(good, 512, 0x80000001)),
            "trie: a replacement at byte 1, inside a character");
  EXPECT_EQ(charsmap_error(with_unit(good, 256 ^ 'a', 100'000u << 10 | 1u << 8 | 'a')),
            "trie: a value at unit 100289 of 768");
  EXPECT_EQ(charsmap_error(std::string(Precompiled::kBlobBytesMax + 1, 'a')),
            "4194305 bytes, expected at most 4194304");
}

TEST(Precompiled, a_cycle_ends_with_the_text) {
  // The edge "a" from the node of "a" leads back to it.
  const std::string blob =
      with_unit(charsmap({{"ab", "x"}}), 512 ^ 'a', static_cast<uint32_t>('a') << 10 | 'a');
  const auto precompiled = Precompiled::parse(blob);
  ASSERT_TRUE(precompiled) << precompiled.error().message;
  Normalized out;
  (*precompiled)->normalize(TextView("aaaaaaaaaa", 0), out);
  EXPECT_EQ(out.text, "aaaaaaaaaa");
}

}  // namespace
}  // namespace signalbox::tokenizer
