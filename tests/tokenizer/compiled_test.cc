// The compiled form gives the same results as its tokenizer.json. A damaged one gives an error or
// is harmless.

#include <cstring>
#include <random>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

constexpr std::string_view kBpe = R"({
  "version": "1.0", "normalizer": null, "pre_tokenizer": null,
  "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": true}],
  "post_processor": null,
  "model": {"type": "BPE", "unk_token": "?", "fuse_unk": true,
            "vocab": {"<s>": 0, "?": 1, "a": 2, "b": 3, "\u00e9": 4, "ab": 5, "aba": 6},
            "merges": ["a b", "ab a"]}
})";

std::string compiled(std::string_view json) {
  auto bytes = Tokenizer::compile(json, "t.json");
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? *std::move(bytes) : std::string();
}

void expect_same(std::string_view json, const std::vector<std::string>& texts) {
  const auto plain = Tokenizer::parse(json, "t.json");
  const auto other = Tokenizer::parse(compiled(json), "t.sbtok");
  ASSERT_TRUE(plain && other);
  EXPECT_EQ((*plain)->vocabulary_size(), (*other)->vocabulary_size());
  Encoding expected, found;
  for (const std::string& text : texts) {
    (*plain)->encode(text, {}, expected);
    (*other)->encode(text, {}, found);
    EXPECT_EQ(found.ids, expected.ids) << text;
    EXPECT_EQ(found.offsets, expected.offsets) << text;
  }
}

TEST(Compiled, encodes_like_the_file_that_it_was_made_from) {
  expect_same(kBpe, {"", "a", "aba<s>ab", "x\xC3\xA9y ab", "ababababa\xFF"});
  expect_same(small_json(), {"the routers [MASK] don't", "Caf\xC3\xA9"});
}

TEST(Compiled, is_mapped_from_a_file) {
  const auto path = std::filesystem::path(testing::TempDir()) / "compiled_test.sbtok";
  std::ofstream(path, std::ios::binary) << compiled(kBpe);
  const auto tokenizer = Tokenizer::open(path);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  Encoding encoding;
  (*tokenizer)->encode("aba", {}, encoding);
  EXPECT_EQ(encoding.ids, std::vector<int32_t>{6});
  std::filesystem::remove(path);
}

TEST(Compiled, every_truncated_file_is_an_error) {
  const std::string bytes = compiled(kBpe);
  for (size_t size = 1; size < bytes.size(); size += 97) {
    const auto tokenizer = Tokenizer::parse(std::string_view(bytes).substr(0, size), "t.sbtok");
    ASSERT_FALSE(tokenizer) << size;
    EXPECT_EQ(tokenizer.error().code, Code::kCorrupt) << tokenizer.error().message;
  }
}

TEST(Compiled, the_error_for_another_version_names_the_remedy) {
  std::string bytes = compiled(kBpe);
  bytes[7] = 9;
  const auto tokenizer = Tokenizer::parse(bytes, "t.sbtok");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(
      tokenizer.error().message,
      "t.sbtok: compiled tokenizer: written by another version: convert the tokenizer.json again");
}

TEST(Compiled, damage_is_an_error_or_gives_ids_in_range) {
  const std::string bytes = compiled(kBpe);
  std::mt19937 random(1);
  const auto below = [&](size_t end) {
    return std::uniform_int_distribution<size_t>(0, end - 1)(random);
  };
  Encoding encoding;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (size_t i = 0; i <= below(4); ++i) {
      damaged[8 + below(damaged.size() - 8)] = static_cast<char>(below(256));
    }
    const auto tokenizer = Tokenizer::parse(damaged, "t.sbtok");
    if (!tokenizer) continue;
    (*tokenizer)->encode("aba<s>ab x\xC3\xA9y", {}, encoding);
    for (const int32_t id : encoding.ids) {
      ASSERT_TRUE(id >= 0 && id < (*tokenizer)->vocabulary_size());
    }
  }
}

}  // namespace
}  // namespace signalbox::tokenizer
