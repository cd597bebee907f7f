// The JSON tree: exact source ranges, every value validated, limits.

#include "base/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json_writer.h"

namespace signalbox::json {
namespace {

TEST(Json, keeps_the_exact_bytes_of_every_value) {
  const std::string source =
      R"( { "big" : 12345678901234567890123 , "one":1.0,"e":1E5, "s":"\u00e9\/", "a" : [ 1 , {"x":null} ] } )";
  const auto document = Document::parse(source);
  ASSERT_TRUE(document) << document.error().message;
  const Value root = document->root();
  EXPECT_EQ(root.find("big")->raw(), "12345678901234567890123");
  EXPECT_EQ(root.find("one")->raw(), "1.0");
  EXPECT_EQ(root.find("e")->raw(), "1E5");
  EXPECT_EQ(root.find("s")->raw(), R"("\u00e9\/")");
  EXPECT_EQ(root.find("s")->text(), "\xC3\xA9/");
  EXPECT_EQ(root.find("a")->raw(), R"([ 1 , {"x":null} ])");
  EXPECT_EQ(document->source(), source);
  EXPECT_EQ(root.begin(), 1u);
  EXPECT_EQ(root.end(), source.size() - 1);
}

TEST(Json, iterates_in_source_order_and_counts_duplicates) {
  const auto document =
      Document::parse(R"({"model":"a","n":[1,[2,3],4],"model":"b","\u006dodel":"c"})");
  ASSERT_TRUE(document) << document.error().message;
  std::vector<std::string> keys;
  for (const Member& member : document->root().members()) keys.emplace_back(member.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"model", "n", "model", "model"}));
  EXPECT_EQ(document->root().count("model"), 3u);
  EXPECT_EQ(document->root().find("model")->text(), "a");
  std::vector<std::string> items;
  for (const Value& item : document->root().find("n")->items()) items.emplace_back(item.raw());
  EXPECT_EQ(items, (std::vector<std::string>{"1", "[2,3]", "4"}));
}

TEST(Json, converts_numbers_or_returns_the_reason) {
  const auto document = Document::parse(R"([7, -3, 2.5, 99999999999999999999, "7", 1e999])");
  ASSERT_TRUE(document) << document.error().message;
  std::vector<Value> values;
  for (const Value& value : document->root().items()) values.push_back(value);
  EXPECT_EQ(values[0].integer().value(), 7);
  EXPECT_EQ(values[1].integer().value(), -3);
  EXPECT_FALSE(values[2].integer());
  EXPECT_EQ(values[2].number().value(), 2.5);
  EXPECT_FALSE(values[3].integer());
  EXPECT_EQ(values[3].number().value(), 1e20);
  EXPECT_EQ(values[4].integer().error().message, "expected an integer, found \"7\"");
  EXPECT_FALSE(values[5].number());
}

TEST(Json, refuses_invalid_json) {
  for (const char* text : {"",
                           "  ",
                           "{",
                           "[",
                           "}",
                           "{]",
                           "[1,]",
                           "[,1]",
                           "[1 2]",
                           "{\"a\" 1}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "[01]",
                           "[1.]",
                           "[.5]",
                           "[+1]",
                           "[1e]",
                           "[tru]",
                           "[nul]",
                           "[truefalse]",
                           "[\"\\x\"]",
                           "[\"\\ud800\"",
                           "[\"\\ud800\"]",
                           "[\"\\ud800\\n\"]",
                           "[\"\\udc00\"]",
                           "[\"\\u12g4\"]",
                           "[\"\\u-123\"]",
                           "[\"\\",
                           "[1}",
                           "{\"a\":1]",
                           "{\"a\"}",
                           "{\"a\",1}",
                           "[\"a\"\"b\"]",
                           "[1:2]",
                           "[1]x",
                           "[1]]",
                           "{\"a\":}",
                           "[\"\x01\"]",
                           "[\"\xff\"]",
                           "\"text\"",
                           "12",
                           "[-]",
                           "[12abc]",
                           "[\"a\":1]",
                           "{\"a\":1 \"b\":2}",
                           "{\"a\\q\":1}",
                           "[\"abc]"}) {
    EXPECT_FALSE(Document::parse(text)) << text;
  }
}

TEST(Json, limits_depth_and_size) {
  const std::string deep(40, '[');
  EXPECT_EQ(Document::parse(deep + std::string(40, ']'), {.depth = 39}).error().code,
            Code::kTooLarge);
  EXPECT_TRUE(Document::parse(deep + std::string(40, ']'), {.depth = 40}));
  EXPECT_FALSE(Document::parse(std::string(100000, '[')));
  EXPECT_EQ(Document::parse("[1,2,3]", {.bytes = 6}).error().code, Code::kTooLarge);
}

// Visits every value and returns how many there are.
size_t visit(const Value& value, size_t& last) {
  EXPECT_GE(value.begin(), last);
  last = value.begin();
  EXPECT_LE(value.end(), value.begin() + value.raw().size());
  size_t values = 1;
  for (const Value& item : value.items()) values += visit(item, last);
  for (const Member& member : value.members()) values += visit(member.value, last);
  EXPECT_LE(last, value.end());
  return values;
}

std::string repeated(std::string_view part, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

TEST(Json, takes_little_memory_for_small_values) {
  constexpr size_t kBytes = 1 << 20;
  for (const std::string_view part : {"1,", "[],", "\"\",", "\"\\n\",", "{\"\":0},", "[[[[1]]]],",
                                      "{\"\\n\":\"\\n\"},", "null,", " 1 , "}) {
    const size_t count = kBytes / part.size();
    const std::string text = "[" + repeated(part, count) + "1]";
    const auto document = Document::parse(text);
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_LE(document->memory_bytes(), 3 * text.size()) << part;
    size_t last = 0;
    EXPECT_GT(visit(document->root(), last), count) << part;
    size_t items = 0;
    for (const Value& item : document->root().items()) items += item.end() > item.begin();
    EXPECT_EQ(items, count + 1) << part;
  }
}

TEST(Json, finds_the_ends_of_nested_values_of_every_size) {
  std::string chain = "1";
  for (int depth = 0; depth < 100; ++depth) {
    chain = depth % 2 == 0 ? "[" + chain + "]" : "{\"k\":" + chain + "}";
    const std::string text =
        "[" + chain + "," + chain + ",\"" + repeated("x", static_cast<size_t>(depth)) + "\"]";
    const auto document = Document::parse(text);
    ASSERT_TRUE(document) << document.error().message;
    std::vector<std::string> items;
    for (const Value& item : document->root().items()) items.emplace_back(item.raw());
    ASSERT_EQ(items.size(), 3u);
    EXPECT_EQ(items[0], chain);
    EXPECT_EQ(items[1], chain);
    EXPECT_EQ(items[2].size(), static_cast<size_t>(depth) + 2);
  }
}

TEST(Json, resolves_every_escape) {
  const auto document = Document::parse(
      R"(["plain","\"\\\/\b\f\n\r\t","a\u00e9\u20ACb","\ud83d\ude00","\\",{"\\\"":"]"},"x\""])");
  ASSERT_TRUE(document) << document.error().message;
  std::vector<std::string> texts;
  for (const Value& item : document->root().items())
    texts.emplace_back(item.is_string() ? item.text() : (*item.members().begin()).key);
  EXPECT_EQ(texts, (std::vector<std::string>{"plain", "\"\\/\b\f\n\r\t",
                                             "a\xC3\xA9\xE2\x82\xAC"
                                             "b",
                                             "\xF0\x9F\x98\x80", "\\", "\\\"", "x\""}));
}

TEST(Json, survives_a_move_of_the_document) {
  auto document = Document::parse(R"({"a":"x\ny","b":2})");
  ASSERT_TRUE(document);
  const Document moved = std::move(*document);
  EXPECT_EQ(moved.root().find("a")->text(), "x\ny");
  EXPECT_EQ(moved.root().find("b")->raw(), "2");
}

TEST(JsonWriter, quotes_the_beginning_of_a_long_text) {
  EXPECT_EQ(quote_briefly("a\n\"b\""), R"("a\n\"b\"")");
  EXPECT_EQ(quote_briefly(std::string(64, 'x')), '"' + std::string(64, 'x') + '"');
  EXPECT_EQ(quote_briefly(std::string(1000, 'x')), '"' + std::string(64, 'x') + "...\"");
  EXPECT_EQ(quote_briefly(std::string(63, 'x') + "\xC3\xA9"), '"' + std::string(63, 'x') + "...\"");
  EXPECT_EQ(quote_briefly(std::string(100, '\xFF')).size(), 3 * 64 + 5U) << "each a U+FFFD";
}

TEST(JsonWriter, writes_values_that_the_reader_reads_back) {
  const std::string text =
      "quote \" slash \\ line \n nul " + std::string(1, '\0') + " caf\xC3\xA9 bad \xFF";
  const std::string written = Writer()
                                  .begin_object()
                                  .member("text", text)
                                  .member("half", 0.5)
                                  .member("tenth", 0.1f)
                                  .member("n", int64_t{-7})
                                  .member("yes", true)
                                  .key("list")
                                  .begin_array()
                                  .null()
                                  .raw("[1]")
                                  .end_array()
                                  .end_object()
                                  .take();
  const auto document = Document::parse(written);
  ASSERT_TRUE(document) << document.error().message << "\n" << written;
  const Value root = document->root();
  EXPECT_EQ(root.find("text")->text(), text.substr(0, text.size() - 1) + "\xEF\xBF\xBD");
  EXPECT_EQ(root.find("half")->raw(), "0.5");
  EXPECT_EQ(root.find("tenth")->raw(), "0.1");
  EXPECT_EQ(root.find("n")->raw(), "-7");
  EXPECT_EQ(root.find("list")->raw(), "[null,[1]]");
}

}  // namespace
}  // namespace signalbox::json
