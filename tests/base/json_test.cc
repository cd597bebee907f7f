// The JSON tree: exact source ranges, every value validated, limits.

#include "base/json.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/json_find.h"
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

// A random document, and the text of each of its values in the order of the source.
struct RandomDocument {
  explicit RandomDocument(uint32_t seed) : random(seed) { write(0); }

  void write(size_t depth) {
    const size_t at = values.size(), begin = text.size();
    values.emplace_back();
    const auto kind = depth == 0 ? random() % 2 : depth < 6 ? random() % 5 : 2 + random() % 3;
    if (kind == 0) write_all("[]", false, depth);
    if (kind == 1) write_all("{}", true, depth);
    if (kind == 2 || kind == 3) write_text();
    if (kind == 4) text += std::string(1 + random() % 40, '7');
    values[at] = text.substr(begin);
  }

  void write_all(std::string_view brackets, bool is_object, size_t depth) {
    text += brackets[0];
    const auto size = random() % 5;
    for (size_t i = 0; i < size; ++i) {
      if (i > 0) text += random() % 2 == 0 ? "," : " , ";
      if (is_object) write_text();
      if (is_object) text += random() % 2 == 0 ? ":" : " : ";
      write(depth + 1);
    }
    text += brackets[1];
  }

  // Texts are about as long as those whose ends are remembered.
  void write_text() {
    constexpr std::string_view kParts[] = {"a", "]", "{", ",", "\\\"", "\\\\", "\\u0041"};
    const size_t kinds = random() % 2 == 0 ? 4 : std::size(kParts);
    text += '"';
    for (auto left = random() % 36; left > 0; --left) text += kParts[random() % kinds];
    text += '"';
  }

  std::mt19937 random;
  std::string text;
  std::vector<std::string> values;
};

void collect(const Value& value, std::vector<std::string>& out) {
  out.emplace_back(value.raw());
  for (const Value& item : value.items()) collect(item, out);
  for (const Member& member : value.members()) collect(member.value, out);
}

TEST(Json, finds_the_ends_of_all_values_of_random_documents) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const RandomDocument expected(seed);
    const auto document = Document::parse(expected.text);
    ASSERT_TRUE(document) << expected.text;
    std::vector<std::string> values;
    collect(document->root(), values);
    ASSERT_EQ(values, expected.values) << expected.text;
    for (const Member& member : document->root().members()) {
      const auto found = document->root().find(member.key);
      ASSERT_TRUE(found) << expected.text;
      const bool is_first = found->begin() == member.value.begin();
      ASSERT_TRUE(is_first || document->root().count(member.key) > 1) << expected.text;
      ASSERT_LE(found->begin(), member.value.begin()) << "the first of that name";
    }
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

TEST(Json, holds_no_texts_with_escapes_that_nobody_reads) {
  constexpr size_t kBytes = 1 << 20;
  for (const std::string_view part : {"\"\\n\",", "\"\\u0041\",", "{\"\\n\":\"\\n\"},"}) {
    const std::string text = "[" + repeated(part, kBytes / part.size()) + "1]";
    const auto document = Document::parse(text);
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_LE(document->memory_bytes(), text.size() + text.size() / 16) << part;
    const size_t before = document->memory_bytes();
    EXPECT_EQ((*document->root().items().begin()).end(), 1 + part.size() - 1);
    EXPECT_EQ(document->memory_bytes(), before) << "looking for ends resolves nothing";
  }
}

TEST(Json, holds_the_texts_with_escapes_that_were_read_without_slack) {
  constexpr size_t kBytes = 1 << 20;
  for (const std::string_view part : {"\"\\n\",", "\"\\u0041\",", "\"0123456789\\n\","}) {
    const std::string text = "[" + repeated(part, kBytes / part.size()) + "1]";
    const auto document = Document::parse(text);
    ASSERT_TRUE(document) << document.error().message;
    size_t bytes = 0;
    for (const Value& item : document->root().items())
      bytes += item.is_string() ? item.text().size() : 0;
    EXPECT_LE(document->memory_bytes(), text.size() + bytes + text.size() * 3 / 16) << part;
  }
  const std::string one = "[\"" + repeated("a line of text\\n", kBytes / 16) + "\"]";
  const auto document = Document::parse(one);
  ASSERT_TRUE(document) << document.error().message;
  const size_t bytes = (*document->root().items().begin()).text().size();
  EXPECT_LE(document->memory_bytes(), one.size() + bytes + 4096);
}

// Strings of every length at every distance from each other and from the borders of blocks.
TEST(Json, finds_every_text_with_escapes_in_any_order) {
  std::mt19937 random(5);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 30; ++round) {
    std::string source = "[";
    std::vector<std::string> expected;
    while (source.size() < 20'000) {
      std::string written, text;
      for (uint32_t n = below(10) == 0 ? below(9000) : below(40), i = 0; i < n; ++i) {
        const uint32_t kind = below(round % 2 == 0 ? 3 : 40);
        written += kind == 0 ? "\\n" : kind == 1 ? "\\ud83d\\ude00" : "x";
        text += kind == 0 ? "\n" : kind == 1 ? "\xF0\x9F\x98\x80" : "x";
      }
      source += "\"" + written + "\"," + std::string(below(3) == 0 ? below(200) : 0, ' ');
      expected.push_back(text);
    }
    const auto document = Document::parse(source + "0]");
    ASSERT_TRUE(document) << document.error().message;
    std::vector<Value> values;
    for (const Value& item : document->root().items()) {
      if (item.is_string()) values.push_back(item);
    }
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < 2 * values.size(); ++i) {
      const size_t n = below(static_cast<uint32_t>(values.size()));
      ASSERT_EQ(values[n].text(), expected[n]) << "string " << n;
    }
    for (size_t n = 0; n < values.size(); ++n) ASSERT_EQ(values[n].text(), expected[n]) << n;
  }
}

TEST(Json, threads_read_the_same_texts_with_escapes) {
  const std::string text = "[" + repeated("\"a\\tb\",", 20'000) + "0]";
  const auto document = Document::parse(text);
  ASSERT_TRUE(document) << document.error().message;
  std::vector<std::thread> threads;
  std::vector<size_t> right(4);
  for (size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&, i] {
      for (const Value& item : document->root().items())
        right[i] += item.is_string() && item.text() == "a\tb" ? 1 : 0;
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(right, std::vector<size_t>(right.size(), 20'000));
}

TEST(Json, takes_a_text_and_gives_it_back) {
  std::string text = R"({"a":"x\ny","b":[1,2,3],"c":"a text that is longer than a small one"})";
  const std::string same = text;
  const char* const bytes = text.data();
  auto document = Document::take(text);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->root().find("a")->text(), "x\ny");
  text = std::move(*document).take_source();
  EXPECT_EQ(text, same);
  EXPECT_EQ(text.data(), bytes) << "it was not copied";
  text.back() = ']';
  EXPECT_FALSE(Document::take(text));
  EXPECT_EQ(text.size(), same.size()) << "a refused text stays where it was";
}

TEST(Json, survives_a_move_of_the_document) {
  auto document = Document::parse(R"({"a":"x\ny","b":2})");
  ASSERT_TRUE(document);
  const std::string_view text = document->root().find("a")->text();
  const Document moved = std::move(*document);
  EXPECT_EQ(text, "x\ny");
  EXPECT_EQ(moved.root().find("a")->text().data(), text.data());
  EXPECT_EQ(moved.root().find("b")->raw(), "2");
}

TEST(JsonWriter, quotes_the_beginning_of_a_long_text) {
  EXPECT_EQ(quote_briefly("a\n\"b\""), R"("a\n\"b\"")");
  EXPECT_EQ(quote_briefly(std::string(64, 'x')), '"' + std::string(64, 'x') + '"');
  EXPECT_EQ(quote_briefly(std::string(1000, 'x')), '"' + std::string(64, 'x') + "...\"");
  EXPECT_EQ(quote_briefly(std::string(63, 'x') + "\xC3\xA9"), '"' + std::string(63, 'x') + "...\"");
  EXPECT_EQ(quote_briefly(std::string(100, '\xFF')).size(), 3 * 64 + 5U) << "each a U+FFFD";
}

TEST(Json, finds_the_first_of_each_name_in_one_pass) {
  const auto document = Document::parse(R"({"b":1,"a":2,"b":3})");
  ASSERT_TRUE(document);
  const auto [a, b, c] = find_each(document->root(), "a", "b", "c");
  EXPECT_EQ(a->raw(), "2");
  EXPECT_EQ(b->raw(), "1");
  EXPECT_FALSE(c);
}

TEST(JsonWriter, escapes_a_byte_wherever_it_stands) {
  for (int byte = 0; byte < 0x80; ++byte) {
    const auto c = static_cast<char>(byte);
    const bool is_plain = byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
    for (size_t at = 0; at < 20; ++at) {
      std::string text(20, 'x');
      text[at] = c;
      const std::string written = Writer().begin_array().string(text).end_array().take();
      EXPECT_EQ(written.size() == text.size() + 4, is_plain) << written;
      const auto document = Document::parse(written);
      ASSERT_TRUE(document) << document.error().message << "\n" << written;
      for (const Value value : document->root().items()) EXPECT_EQ(value.text(), text);
    }
  }
}

TEST(JsonWriter, writes_the_shortest_form_of_a_number) {
  const auto expect_shortest = [](double value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    EXPECT_EQ(Writer().begin_array().number(value).end_array().take(),
              "[" + std::string(digits, end) + "]");
  };
  for (const double value : {0.0, -0.0, -1.5, 1e-4, 1e5, 99999.999, 1e300, 5e-324, 1.0 / 3})
    expect_shortest(value);
  for (int i = 0; i < 200'000'000; i += 9'973) {
    const double thousandths = i / 1000.0;
    for (const double value : {thousandths, std::nextafter(thousandths, 1e9), -thousandths})
      expect_shortest(value);
  }
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
