// What rows of JSON cannot carry: bytes that are not UTF-8, long texts, several threads, reuse.

#include <thread>

#include "tests/tokenizer/support.h"

namespace signalbox::tokenizer {
namespace {

constexpr EncodeOptions kPlain{.special_tokens = false, .tokens_max = 0};

Encoding encode(const Tokenizer& tokenizer, std::string_view text,
                const EncodeOptions& options = kPlain) {
  Encoding out;
  tokenizer.encode(text, options, out);
  return out;
}

TEST(Encode, bad_bytes_vanish_like_the_replacement_character_and_offsets_stay_in_bytes) {
  const auto tokenizer = small_tokenizer();
  const Encoding encoding = encode(*tokenizer, "ro\xFFuter\xC3 a\xE4\xB8 caf\xC3\xA9\xF0\x9F");
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{9, 5, 16}));
  EXPECT_EQ(byte_offsets(encoding), (Ranges{{0, 7}, {9, 10}, {13, 18}}));
}

TEST(Encode, without_clean_text_each_maximal_subpart_is_one_replacement_character) {
  const auto tokenizer = small_tokenizer(R"({"normalizer": null})");
  const Encoding encoding = encode(*tokenizer, "a \xF0\x9F\x98 a");
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{5, 1, 5}));
  EXPECT_EQ(byte_offsets(encoding), (Ranges{{0, 1}, {2, 5}, {6, 7}}));
}

TEST(Encode, special_tokens_are_found_between_bad_bytes) {
  const auto tokenizer = small_tokenizer();
  const Encoding encoding = encode(*tokenizer, "\xE4[MASK]\x80");
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{4}));
  EXPECT_EQ(byte_offsets(encoding), (Ranges{{1, 7}}));
}

TEST(Encode, a_long_text_gives_what_its_words_give) {
  const auto tokenizer = small_tokenizer();
  const std::string_view word =
      "Caf\xC3\xA9 \xE4\xB8\xAD"
      "e\xCC\x81 sendings ";
  const Encoding one = encode(*tokenizer, word);
  constexpr size_t kTimes = 5000;
  std::string text;
  for (size_t i = 0; i < kTimes; ++i) text += word;
  const Encoding all = encode(*tokenizer, text);
  ASSERT_EQ(all.ids.size(), kTimes * one.ids.size());
  for (size_t i = 0; i < all.ids.size(); ++i) {
    const size_t k = i % one.ids.size();
    const auto shift = static_cast<uint32_t>(i / one.ids.size() * word.size());
    ASSERT_EQ(all.ids[i], one.ids[k]) << i;
    ASSERT_EQ(all.offsets[i], (Span{one.offsets[k].begin + shift, one.offsets[k].end + shift}))
        << i;
  }
}

TEST(Encode, a_long_text_without_spaces_is_taken_in_one_piece) {
  const auto tokenizer = small_tokenizer();
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "\xE5\x9B\xBD";
  const Encoding encoding = encode(*tokenizer, text);
  ASSERT_EQ(encoding.ids.size(), 100'000u);
  EXPECT_EQ(encoding.offsets.back(), (Span{299'997, 300'000}));
}

TEST(Encode, one_word_of_a_megabyte_is_one_unknown_token) {
  const auto tokenizer = small_tokenizer();
  const Encoding encoding = encode(*tokenizer, std::string(1 << 20, 'a'));
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{1}));
  EXPECT_EQ(byte_offsets(encoding), (Ranges{{0, 1 << 20}}));
}

TEST(Encode, a_million_marks_on_one_letter_leave_the_letter) {
  const auto tokenizer = small_tokenizer();
  std::string text = "a";
  for (int i = 0; i < 500'000; ++i)
    text += "\xCC\x81\xCC\x96";  // classes 230 and 220: never in order
  const Encoding encoding = encode(*tokenizer, text);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{5}));
  EXPECT_EQ(byte_offsets(encoding), (Ranges{{0, 1}}));
}

// The reference aligns marks by position after it has sorted them; the spacing mark U+302E (class
// 224) stays.
TEST(Encode, marks_that_canonical_order_swaps_keep_the_places_of_what_they_replace) {
  const auto tokenizer = small_tokenizer(
      R"({"model": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "",
          "max_input_chars_per_word": 9, "vocab": {"u": 0, "e": 1, "\u302e": 2}},
          "added_tokens": [], "post_processor": null})");
  const Encoding sorted = encode(*tokenizer, "e\xCC\x96\xE3\x80\xAE");  // U+0316 (220) is stripped
  EXPECT_EQ(byte_offsets(sorted), (Ranges{{0, 1}, {3, 6}}));
  const Encoding swapped =
      encode(*tokenizer, "e\xCC\x81\xE3\x80\xAE");  // U+0301 (230) goes behind U+302E
  EXPECT_EQ(swapped.ids, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(byte_offsets(swapped), (Ranges{{0, 1}, {1, 3}}));
}

TEST(Encode, a_limit_below_the_number_of_special_tokens_still_holds) {
  const auto tokenizer = small_tokenizer();
  const Encoding encoding = encode(*tokenizer, "a b", {.special_tokens = true, .tokens_max = 1});
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{2}));
  EXPECT_EQ(encoding.offsets.size(), 1u);
  EXPECT_EQ(encoding.type_ids.size(), 1u);
}

TEST(Encode, tells_which_tokens_are_whose) {
  const auto tokenizer = small_tokenizer();
  Encoding encoding;
  tokenizer->encode_pair("a b", "c", {}, encoding);
  EXPECT_EQ(encoding.first_tokens, (Span{1, 3}));
  EXPECT_EQ(encoding.second_tokens, (Span{4, 5}));
  tokenizer->encode("a", {}, encoding);
  EXPECT_EQ(encoding.first_tokens, (Span{1, 2}));
  EXPECT_EQ(encoding.second_tokens, (Span{0, 0}));
}

TEST(Encode, an_encoding_may_be_used_again) {
  const auto tokenizer = small_tokenizer();
  Encoding encoding;
  tokenizer->encode("the router sending", {}, encoding);
  tokenizer->encode("a", {}, encoding);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{2, 5, 3}));
}

TEST(Encode, one_tokenizer_serves_many_threads) {
  const auto tokenizer = small_tokenizer();
  const std::string_view text = "Sending caf\xC3\xA9 [MASK] e\xCC\x81\xCC\x96 \xE4\xB8\xAD!";
  const Encoding expected = encode(*tokenizer, text);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& mine : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) mine += encode(*tokenizer, text).ids != expected.ids;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace signalbox::tokenizer
