// data/regex.jsonl: matches and their positions in bytes. data/regex_refused.jsonl: patterns that
// are not translated.

#include "tokenizer/unicode/regex.h"

#include <sstream>

#include "tests/tokenizer/support.h"
#include "tokenizer/hf/json_field.h"

namespace signalbox::tokenizer {
namespace {

Ranges matches_of(const Regex& regex, std::string_view text) {
  std::vector<Span> matches;
  regex.find_all(text, matches);
  Ranges out;
  for (const Span match : matches) out.emplace_back(match.begin, match.end);
  return out;
}

TEST(Regex, matches_like_oniguruma) {
  std::istringstream rows(read_file(data_file("regex.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    SCOPED_TRACE(row->root().find("why").value().text());
    const auto regex = Regex::compile(row->root().find("pattern").value().text());
    ASSERT_TRUE(regex) << regex.error().message;
    const std::string_view text = row->root().find("text").value().text();
    const Ranges expected = ranges(row->root().find("matches").value());
    EXPECT_EQ(matches_of(*regex, text), expected);
    EXPECT_EQ(regex->is_in(text), !expected.empty());
  }
  EXPECT_GE(count, 31);
}

TEST(Regex, malformed_or_unsupported_patterns_are_refused_with_their_place) {
  std::istringstream rows(read_file(data_file("regex_refused.jsonl")));
  int count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row) << line;
    const std::string_view pattern = row->root().find("pattern").value().text();
    const auto regex = Regex::compile(pattern);
    ASSERT_FALSE(regex) << line;
    EXPECT_EQ(code_name(regex.error().code), row->root().find("code").value().text()) << line;
    const json::Value what = row->root().find("what").value();
    if (what.is_null()) continue;  // the message comes from RE2
    EXPECT_EQ(regex.error().message, in_quotes(pattern) + ": " + std::string(what.text()));
  }
  EXPECT_GE(count, 48);
}

TEST(Regex, groups_nested_too_deep_are_too_large) {
  const auto regex = Regex::compile(std::string(100'000, '('));
  ASSERT_FALSE(regex);
  EXPECT_EQ(regex.error().code, Code::kTooLarge);
}

TEST(Regex, patterns_that_hang_a_backtracking_matcher_end) {
  const auto regex = Regex::compile("(?:a|aa)+b");
  ASSERT_TRUE(regex);
  EXPECT_FALSE(regex->is_in(std::string(1 << 20, 'a')));
}

}  // namespace
}  // namespace signalbox::tokenizer
