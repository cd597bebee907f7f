// Tests the reader of JSON strings with escapes, and the mapping back to their bytes.

#include "router/request/json_text.h"

#include <gtest/gtest.h>

#include <random>

#include "base/json.h"

namespace signalbox::request {
namespace {

std::string_view source_of(std::string_view source, const JsonText& json, size_t begin,
                           size_t end) {
  const auto [from, to] = json.origin(begin, end);
  return source.substr(from, to - from);
}

/// Returns the source of each part; '#' precedes a number.
std::string parts_of(std::string_view source, size_t begin, size_t end) {
  const JsonText json(source);
  std::string out;
  for (const JsonText::Part& part : json.parts(begin, end)) {
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", part.is_string ? "" : "#",
                       source_of(source, json, part.begin, part.end));
  }
  return out;
}

TEST(JsonText, resolves_every_escape) {
  const std::string_view source =
      R"({"a\"b": "\\ \/ \b\f\n\r\t \u0041\u00e9\u20AC\ud83d\ude00", "c": [1, true]})";
  const JsonText json(source);
  EXPECT_EQ(
      json.text(),
      "{\"a\"b\": \"\\ / \b\f\n\r\t A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\", \"c\": [1, true]}");
  EXPECT_EQ(source_of(source, json, 0, json.text().size()), source);
  const size_t euro = json.text().find("\xE2\x82\xAC");
  EXPECT_EQ(source_of(source, json, euro, euro + 3), "\\u20AC");
  EXPECT_EQ(source_of(source, json, euro, euro + 7), "\\u20AC\\ud83d\\ude00");
}

TEST(JsonText, a_text_without_escapes_is_the_source_itself) {
  const std::string source = R"({"a": "b"})";
  EXPECT_EQ(JsonText(source).text().data(), source.data());
}

TEST(JsonText, returns_the_replaceable_parts_of_a_range) {
  const std::string_view source = R"({"n": "Ada", "m": ["Lo\u0076e", -12.5, null, ""]})";
  EXPECT_EQ(parts_of(source, 7, 10), "Ada");
  EXPECT_EQ(parts_of(source, 8, 22), "da m Lo");
  EXPECT_EQ(parts_of(source, 8, 23), "da m Lo\\u0076");
  EXPECT_EQ(parts_of(source, 7, 40), "Ada m Lo\\u0076e #-12.5");
  EXPECT_EQ(parts_of(source, 28, 29), "#-12.5");
  EXPECT_EQ(parts_of(source, 33, 42), "");
}

// Any string, written with any escapes, must be read as the parser reads it, and every byte must
// have a position.
TEST(JsonText, agrees_with_the_parser) {
  constexpr auto kSpelt =
      std::to_array<std::string_view>({"a", "\xC3\xA9", "\\u00e9", "\\ud83d\\ude00", "\\n", "\\\"",
                                       "\\\\", "\\/", " ", "7", "\\u005b"});
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string source = "[";
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      source += '"';
      for (size_t length = random() % 6; length > 0; --length)
        source += kSpelt[random() % kSpelt.size()];
      source += n > 1 ? "\", " : "\"]";
    }
    const auto document = json::Document::parse(source);
    ASSERT_TRUE(document) << source;
    std::string expected;
    for (const json::Value& item : document->root().items())
      expected += fmt::format("{}\"{}\"", expected.empty() ? "[" : ", ", item.text());
    const JsonText json(source);
    ASSERT_EQ(json.text(), expected + "]") << source;
    std::string again;
    size_t last = 0;
    for (size_t at = 0; at < json.text().size(); ++at) {
      const auto [from, to] = json.origin(at, at + 1);
      ASSERT_LT(from, to) << source;
      if (from < last) continue;  // part of a character with several bytes
      ASSERT_EQ(from, last) << source;
      again += source.substr(from, to - from);
      last = to;
    }
    ASSERT_EQ(again, source);
  }
}

}  // namespace
}  // namespace signalbox::request
