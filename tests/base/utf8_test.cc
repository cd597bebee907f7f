// UTF-8: well-formed text decodes, and bad bytes have one defined result.

#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace signalbox::utf8 {
namespace {

std::vector<char32_t> decode_all(std::string_view text) {
  std::vector<char32_t> out;
  for (size_t i = 0; i < text.size();) {
    const Decoded decoded = decode(text, i);
    out.push_back(decoded.code_point);
    i += decoded.bytes;
  }
  return out;
}

TEST(Utf8, every_code_point_round_trips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string text;
    append(text, c);
    const Decoded decoded = decode(text, 0);
    ASSERT_EQ(decoded.code_point, c);
    ASSERT_EQ(decoded.bytes, text.size());
    ASSERT_TRUE(is_valid(text));
  }
}

TEST(Utf8, bad_bytes_decode_as_maximal_subparts) {
  // Example from Unicode 15, table 3-11.
  EXPECT_EQ(decode_all("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            (std::vector<char32_t>{0x61, kReplacement, kReplacement, kReplacement, 0x62,
                                   kReplacement, 0x63, kReplacement, kReplacement, 0x64}));
  for (const char* bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "a\xE2\x82"}) {
    EXPECT_FALSE(is_valid(bad)) << bad;
  }
}

TEST(Utf8, a_genuine_replacement_character_is_valid) {
  EXPECT_TRUE(is_valid("\xEF\xBF\xBD"));
  EXPECT_EQ(count("a\xEF\xBF\xBD\xC3\xA9"), 3u);
}

TEST(Utf8, counts_code_points_up_to_places_in_ascending_order) {
  Points points("\xC3\xA9\xE2\x82\xACxy", 2);
  EXPECT_EQ(points.up_to(2), 0u);
  EXPECT_EQ(points.up_to(5), 1u);
  EXPECT_EQ(points.up_to(5), 1u);
  EXPECT_EQ(points.up_to(7), 3u);
}

}  // namespace
}  // namespace signalbox::utf8
