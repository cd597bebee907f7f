// Invalid UTF-8, which no row of JSON can pass to the peer. A text with such bytes must give the
// same result as the text with U+FFFD inserted by hand, with offsets that refer to the original
// bytes.

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <string>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Each U+FFFD replaces a maximal subpart, as recommended by Unicode and implemented in Rust.
struct Bad {
  std::string_view bytes;
  std::vector<uint32_t> parts;  // bytes replaced by each U+FFFD
};
const Bad kBad[] = {
    {"\xFF", {1}},
    {"\x80", {1}},
    {"\xBF\xBF", {1, 1}},
    {"\xC3", {1}},                                     // truncated
    {"\xE2\x82", {2}},                                 // truncated
    {"\xF0\x9F\x98", {3}},                             // truncated
    {"\xF0\x9F\xF0\x9F\x98", {2, 3}},                  // truncated, twice
    {"\xC0\xAF", {1, 1}},                              // overlong
    {"\xE0\x80\xAF", {1, 1, 1}},                       // overlong
    {"\xED\xA0\xBD\xED\xB8\x80", {1, 1, 1, 1, 1, 1}},  // two surrogates
    {"\xF4\x90\x80\x80", {1, 1, 1, 1}},                // above U+10FFFF
    {"\xF5\x80", {1, 1}},
};

constexpr std::string_view kGood[] = {"the router",
                                      " ",
                                      "  ",
                                      "\n",
                                      "a",
                                      "Z\xC3\xBCrich",
                                      "caf\x65\xCC\x81",
                                      "don't",
                                      "42",
                                      "\xE4\xBD\xA0\xE5\xA5\xBD",
                                      "\xED\x95\x9C\xEA\xB5\xAD",
                                      "\xF0\x9F\x98\x80",
                                      "\xD7\xA9\xD6\xB8",
                                      "[MASK]",
                                      "<|endoftext|>",
                                      "</s>",
                                      ".",
                                      "\xE2\x96\x81",
                                      "\xEF\xBF\xBD",
                                      "\xCC\x81",
                                      "1,000.5"};

struct Text {
  std::string bytes;             // the original
  std::string repaired;          // with U+FFFD
  std::vector<uint32_t> origin;  // (repaired.size() + 1): position in `bytes` where a code point
                                 // begins
};

void append(Text& text, std::string_view repaired, uint32_t bytes) {
  text.origin.resize(text.repaired.size() + 1);
  text.origin[text.repaired.size()] = static_cast<uint32_t>(text.bytes.size()) - bytes;
  text.repaired += repaired;
}

void append_good(Text& text, std::string_view good) {
  for (size_t i = 0; i < good.size();) {
    const uint32_t bytes = utf8::decode(good, i).bytes;
    text.bytes += good.substr(i, bytes);
    append(text, good.substr(i, bytes), bytes);
    i += bytes;
  }
}

void append_bad(Text& text, const Bad& bad) {
  size_t begin = 0;
  for (const uint32_t bytes : bad.parts) {
    text.bytes += bad.bytes.substr(begin, bytes);
    append(text, kReplacement, bytes);
    begin += bytes;
  }
}

Text random_text(std::minstd_rand& random) {
  Text text;
  for (auto pieces = random() % 12 + 1; pieces > 0; --pieces) {
    // A good piece follows each bad one, so that a truncated sequence is not completed by the next.
    if (random() % 2 == 0) append_bad(text, kBad[random() % std::size(kBad)]);
    append_good(text, kGood[random() % std::size(kGood)]);
  }
  text.origin.resize(text.repaired.size() + 1);
  text.origin.back() = static_cast<uint32_t>(text.bytes.size());
  return text;
}

class BadBytes : public testing::TestWithParam<std::string> {};

TEST_P(BadBytes, read_as_replacement_characters_and_offsets_point_at_them) {
  const auto file = std::filesystem::path(SIGNALBOX_SOURCE_DIR) / GetParam();
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " does not exist; run tests/tokenizer/peer/fetch";
  const auto tokenizer = Tokenizer::open(file);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  std::minstd_rand random(1);
  Encoding encoding, expected;
  for (int i = 0; i < 2000 && !HasFailure(); ++i) {
    const Text text = random_text(random);
    (*tokenizer)->encode(text.bytes, {}, encoding);
    (*tokenizer)->encode(text.repaired, {}, expected);
    for (Span& span : expected.offsets) {
      span = {text.origin.at(span.begin), text.origin.at(span.end)};
    }
    EXPECT_EQ(encoding.ids, expected.ids) << testing::PrintToString(text.bytes);
    EXPECT_EQ(byte_offsets(encoding), byte_offsets(expected)) << testing::PrintToString(text.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadBytes,
    testing::Values("tests/tokenizer/data/small.json", "build/tokenizers/bert.json",
                    "build/tokenizers/modernbert.json", "build/tokenizers/gemma2.json",
                    "build/tokenizers/gpt2.json", "build/tokenizers/t5.json"),
    [](const auto& test) { return std::filesystem::path(test.param).stem().string(); });

}  // namespace
}  // namespace signalbox::tokenizer
