// Each class over every code point, as digests taken when all of them agreed with the reference
// (tokenizers 0.23.2). If a system's utf8proc has newer data, this test fails and unicode.cc needs
// new rows.

#include "tokenizer/unicode/unicode.h"

#include <gtest/gtest.h>

namespace signalbox::tokenizer::unicode {
namespace {

uint64_t add(uint64_t digest, uint64_t value) {
  return (digest ^ value) * 0x100000001B3;
}  // FNV-1a

template <class Function>
uint64_t digest_of(const Function& function) {
  uint64_t digest = 0xCBF29CE484222325;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c < 0xD800 || c > 0xDFFF) digest = function(digest, c);
  }
  return digest;
}

uint64_t add_all(uint64_t digest, const Expansion& expansion) {
  for (uint32_t i = 0; i < expansion.size; ++i) digest = add(digest, expansion.code_points[i]);
  return add(digest, expansion.size);
}

TEST(Unicode, every_code_point_has_the_class_of_the_reference) {
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, is_whitespace(c)); }),
            0x6456EA463BE947ACu);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, is_control(c)); }),
            0xDECE2666C2836538u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, is_punctuation(c)); }),
            0xA3697819881ABE1Bu);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, is_nonspacing_mark(c)); }),
            0x322EFA4FA422E548u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, is_word(c)); }),
            0x861475D1D6EC7B7Cu);
  EXPECT_EQ(
      digest_of([](uint64_t d, char32_t c) { return add(d, static_cast<uint64_t>(category(c))); }),
      0xADB3078EB812DA37u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, is_mark(c)); }),
            0x4985099391AE3126u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, is_numeric(c)); }),
            0x3E1A1D027744696Fu);
  const ClassTable& classes = ClassTable::get();
  EXPECT_EQ(digest_of([&](uint64_t d, char32_t c) {
              return add(d, static_cast<uint64_t>(classes.of(c)));
            }),
            0x3E1EB78B22042D10u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add(d, combining_class(c)); }),
            0xBEECD6B1771CB0B9u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add_all(d, decompose(c)); }),
            0xD7D6B38B5D179224u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add_all(d, decompose_compatible(c)); }),
            0x08D6B57D09839F23u);
  // Only the results of decompositions can compose.
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) {
              const Expansion parts = decompose(c);
              char32_t composed = parts.code_points[0];
              for (uint32_t i = 1; i < parts.size; ++i) {
                composed = compose(composed, parts.code_points[i]);
                d = add(d, composed);
              }
              return d;
            }),
            0x551CEA15AE2A5473u);
  EXPECT_EQ(digest_of([](uint64_t d, char32_t c) { return add_all(d, to_lower(c)); }),
            0x2CA1A94BC2ADA0BEu);
}

TEST(Unicode, old_and_new_characters_stand_where_the_reference_has_them) {
  EXPECT_TRUE(is_nonspacing_mark(0x0301));
  EXPECT_FALSE(is_nonspacing_mark(0x08CA));  // Unicode 14
  EXPECT_FALSE(is_nonspacing_mark(0x0903));  // Mc
  EXPECT_FALSE(is_nonspacing_mark(0x20DD));  // Me
  EXPECT_TRUE(is_punctuation('$'));
  EXPECT_FALSE(is_punctuation(0x20AC));  // the euro is a symbol
  EXPECT_FALSE(is_control(0x0378));      // unassigned is not control
  EXPECT_TRUE(is_control(0xE000));       // private use is
  EXPECT_EQ(to_lower(0x130).size, 2u);
  EXPECT_EQ(to_lower(0x3A3).code_points[0], 0x3C3u);
  EXPECT_EQ(to_lower(0xA7DA).code_points[0], 0xA7DBu);  // Unicode 16
  EXPECT_EQ(decompose(0x1E69).size, 3u);
  EXPECT_EQ(decompose(0xAC01).size, 3u);
  EXPECT_EQ(decompose(0x11938).size, 1u);      // Unicode 13
  EXPECT_EQ(combining_class(0x16FF0), 0);      // Unicode 13
  EXPECT_EQ(category(0xA7DB), Category::kLl);  // Unicode 16
  EXPECT_FALSE(is_mark(0x08CA));               // Unicode 14
  EXPECT_TRUE(is_mark(0x1CF2));                // until Unicode 12
  EXPECT_EQ(decompose_compatible(0xFDFA).size, kExpansionMax);
  EXPECT_EQ(decompose_compatible(0x32FF).size, 1u);  // Unicode 12
  EXPECT_EQ(compose('e', 0x301), 0xE9u);
  EXPECT_EQ(compose(0x301, 'e'), 0u);
  EXPECT_EQ(compose(0x915, 0x93C), 0u);      // excluded
  EXPECT_EQ(compose(0x11935, 0x11930), 0u);  // Unicode 13
  EXPECT_EQ(compose(0xAC00, 0x11A7), 0u);    // not a trailing consonant
  EXPECT_EQ(compose(0xAC01, 0x11A8), 0u);
}

}  // namespace
}  // namespace signalbox::tokenizer::unicode
