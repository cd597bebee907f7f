// Cases that rows of JSON cannot express: invalid UTF-8, long texts, reuse.

#include <algorithm>

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

TEST(Encode, a_long_text_has_the_ids_of_its_words) {
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
    text += "\xCC\x81\xCC\x96";  // classes 230 and 220 are never in order
  const Encoding encoding = encode(*tokenizer, text);
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{5}));
  EXPECT_EQ(byte_offsets(encoding), (Ranges{{0, 1}}));
}

// The reference aligns marks by position after sorting them. The spacing mark U+302E (class 224)
// stays.
TEST(Encode, marks_swapped_by_canonical_order_have_places_like_the_reference) {
  const auto tokenizer = small_tokenizer(
      R"({"model": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "",
          "max_input_chars_per_word": 9, "vocab": {"u": 0, "e": 1, "\u302e": 2}},
          "added_tokens": [], "post_processor": null})");
  const Encoding sorted = encode(*tokenizer, "e\xCC\x96\xE3\x80\xAE");  // U+0316 (220) is stripped
  EXPECT_EQ(byte_offsets(sorted), (Ranges{{0, 1}, {3, 6}}));
  const Encoding swapped =
      encode(*tokenizer, "e\xCC\x81\xE3\x80\xAE");  // U+0301 (230) is sorted after U+302E
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

TEST(Encode, the_form_of_spaces_determines_where_a_long_text_may_be_cut) {
  const std::string_view model =
      R"("model": {"type": "WordPiece", "unk_token": "u", "continuing_subword_prefix": "##",
          "max_input_chars_per_word": 100000, "vocab": {"u": 0, "a": 1, "##a": 2, "##\u2581": 3}},
         "added_tokens": [], "post_processor": null,
         "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})";
  std::string text = "a";
  for (int i = 0; i < 5000; ++i) text += " a";
  // There is no space left to split at, so this is one word of 10,001 pieces.
  const auto one_word = small_tokenizer(
      fmt::format(R"({{{}, "pre_tokenizer": {{"type": "BertPreTokenizer"}}}})", model));
  const Encoding one = encode(*one_word, text);
  ASSERT_EQ(one.ids.size(), 10'001u);
  EXPECT_EQ(std::count(one.ids.begin(), one.ids.end(), 1), 1);
  EXPECT_EQ(one.offsets.back(), (Span{10'000, 10'001}));
  // Here each mark begins a word, which is unknown to this model.
  const auto words = small_tokenizer(fmt::format(
      R"({{{}, "pre_tokenizer": {{"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never"}}}})",
      model));
  const Encoding many = encode(*words, text);
  ASSERT_EQ(many.ids.size(), 5001u);
  EXPECT_EQ(many.ids.back(), 0);
  EXPECT_EQ(many.offsets.back(), (Span{9999, 10'001}));
}

TEST(Encode, windows_over_a_long_text_cover_every_token_and_may_be_stopped) {
  const auto tokenizer = small_tokenizer();
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "a b c ";
  const EncodeOptions options{.tokens_max = 512, .stride = 64};
  std::vector<Span> places;
  int windows = 0;
  Encoding other;
  tokenizer->encode_windows(text, options, [&](const Encoding& window) {
    EXPECT_LE(window.ids.size(), 512u);
    const uint32_t shared = windows++ == 0 ? 0 : 64;
    for (uint32_t i = window.first_tokens.begin + shared; i < window.first_tokens.end; ++i) {
      places.push_back(window.offsets[i]);
    }
    tokenizer->encode("the caller may encode meanwhile", options, other);
    return true;
  });
  EXPECT_EQ(windows, 7);
  ASSERT_EQ(places.size(), 3000u);
  for (uint32_t i = 0; i < places.size(); ++i) ASSERT_EQ(places[i], (Span{2 * i, 2 * i + 1})) << i;
  windows = 0;
  tokenizer->encode_windows(text, options, [&](const Encoding&) { return ++windows < 2; });
  EXPECT_EQ(windows, 2);
}

TEST(Encode, trims_in_code_points_over_bytes_that_are_not_utf8) {
  const auto tokenizer = small_tokenizer(
      R"({"added_tokens": [{"id": 44, "content": "<x>", "single_word": false, "lstrip": true,
          "rstrip": true, "normalized": false, "special": true}],
          "post_processor": {"type": "ByteLevel", "trim_offsets": true, "add_prefix_space": false}})");
  const Encoding encoding = encode(*tokenizer, "\xE4\xB8\xE3\x80\x80 <x> \xFF");
  EXPECT_EQ(encoding.ids, (std::vector<int32_t>{44}));
  EXPECT_EQ(byte_offsets(encoding), (Ranges{{6, 9}}));
}

TEST(Encode, returns_the_range_of_tokens_of_each_text) {
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

// If words continue across the positions where long texts are split, the reference still counts
// whole words before it decides which text of a pair is longer. An added token that never matches
// but absorbs the white space before it forces whole-text processing.
TEST(Encode, a_long_pair_is_cut_as_if_its_texts_were_taken_whole) {
  const std::string json = read_file(data_file("fuzz_metaspace.json"));
  const std::string_view last = R"("content": "\n\n")";
  const size_t at = json.find(last);
  ASSERT_NE(at, std::string::npos);
  std::string whole_json = json;
  whole_json.replace(json.rfind('{', at), json.find('}', at) + 1 - json.rfind('{', at),
                     R"({"id": 272, "content": "zzzz", "single_word": false, "lstrip": true,
                        "rstrip": false, "normalized": true, "special": false})");
  const auto local = Tokenizer::parse(json, "local");
  const auto whole = Tokenizer::parse(whole_json, "whole");
  ASSERT_TRUE(local) << local.error().message;
  ASSERT_TRUE(whole) << whole.error().message;
  std::string first, second;
  for (int i = 0; i < 1100; ++i) first += "ab the ";
  for (int i = 0; i < 700; ++i) second += "the bath ";
  Encoding expected, found;
  for (const TruncationSide side : {TruncationSide::kRight, TruncationSide::kLeft}) {
    for (int32_t most = 90; most < 4000; most += 97) {
      const EncodeOptions options{.tokens_max = most, .side = side};
      (*whole)->encode_pair(first, second, options, expected);
      (*local)->encode_pair(first, second, options, found);
      ASSERT_EQ(found.ids, expected.ids) << most;
      ASSERT_EQ(byte_offsets(found), byte_offsets(expected)) << most;
      (*whole)->encode(first, options, expected);
      (*local)->encode(first, options, found);
      ASSERT_EQ(found.ids, expected.ids) << most;
    }
  }
}

}  // namespace
}  // namespace signalbox::tokenizer
