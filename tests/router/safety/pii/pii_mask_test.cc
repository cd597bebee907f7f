// Tests placeholders and their replacement, with texts split at every place.

#include "router/safety/pii/mask.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace signalbox::pii {
namespace {

TEST(Masks, GivesAValueOnePlaceholder) {
  Masks masks("");
  EXPECT_EQ(masks.of("EMAIL_ADDRESS", "a@b.com"), "[EMAIL_ADDRESS_1]");
  EXPECT_EQ(masks.of("EMAIL_ADDRESS", "c@d.com"), "[EMAIL_ADDRESS_2]");
  EXPECT_EQ(masks.of("EMAIL_ADDRESS", "a@b.com"), "[EMAIL_ADDRESS_1]");
  EXPECT_EQ(masks.of("PERSON", "a@b.com"), "[PERSON_1]");
  EXPECT_EQ(masks.all().size(), 3U);
}

TEST(Masks, SkipsPlaceholdersThatTheClientHasWritten) {
  Masks masks("what does [PERSON_1] mean, and [PERSON_2]?");
  EXPECT_EQ(masks.of("PERSON", "Ann"), "[PERSON_3]");
}

TEST(Masks, SkipsPlaceholdersThatFurtherTextsHold) {
  Masks masks("");
  masks.avoid("[[PERSON_1] and [PERSON_2 and [PERSON_[PERSON_3], x]");
  EXPECT_EQ(masks.of("PERSON", "Ann"), "[PERSON_2]");
  EXPECT_EQ(masks.of("PERSON", "Bob"), "[PERSON_4]");
}

// If the text were searched for each value, four times the values in four times the text would take
// sixteen times as long.
TEST(Masks, TakesTimeInProportionToTheText) {
  const auto seconds = [](size_t values) {
    std::string text;
    for (size_t i = 0; i < values; ++i)
      text += fmt::format("a{}@b.co {} ", i, std::string(30, '['));
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t from = std::clock();
      Masks masks(text);
      for (size_t value = 0; value < values; ++value)
        masks.of("EMAIL_ADDRESS", fmt::format("a{}@b.co", value));
      best = std::min(best, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const double one = seconds(1000);
  EXPECT_LT(seconds(4000), 10 * one + 0.01);
}

const MaskTable kMasks({{"[PERSON_1]", "Ann"},
                        {"[PERSON_12]", "Bob [PERSON_1]"},
                        {"[US_SSN_1]", "123-45-6789"}});

std::string in_pieces(std::string_view text, size_t first, size_t second) {
  std::string out;
  Unmasker unmasker(kMasks);
  unmasker.push(text.substr(0, first), out);
  unmasker.push(text.substr(first, second - first), out);
  unmasker.push(text.substr(second), out);
  unmasker.finish(out);
  return out;
}

TEST(Unmasker, PutsOriginalsBackWhereverTheTextIsCut) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"Dear [PERSON_1], your number is [US_SSN_1].", "Dear Ann, your number is 123-45-6789."},
      {"[PERSON_1][PERSON_12]", "AnnBob [PERSON_1]"},
      {"[[PERSON_1]]", "[Ann]"},
      {"[PERSON_[PERSON_1]", "[PERSON_Ann"},
      {"[PERSON_13] [PERSON] [person_1] PERSON_1 [", "[PERSON_13] [PERSON] [person_1] PERSON_1 ["},
      {"a[0] = b[1]; [x](y)", "a[0] = b[1]; [x](y)"},
      {"[PERSON_1", "[PERSON_1"},
      {"", ""},
  };
  for (const auto& [text, expected] : cases) {
    for (size_t first = 0; first <= text.size(); ++first) {
      for (size_t second = first; second <= text.size(); ++second)
        ASSERT_EQ(in_pieces(text, first, second), expected) << first << " " << second;
    }
  }
}

TEST(Unmasker, HoldsBackOnlyPossiblePlaceholders) {
  Unmasker unmasker(kMasks);
  const auto push = [&](std::string_view text) {
    std::string out;
    unmasker.push(text, out);
    return out;
  };
  EXPECT_EQ(push("see ["), "see ");
  EXPECT_EQ(push("1"), "[1");
  EXPECT_FALSE(unmasker.holds_back());
  EXPECT_EQ(push("] [PERS"), "] ");
  EXPECT_EQ(push("ON_"), "");
  EXPECT_EQ(push("1"), "");
  EXPECT_TRUE(unmasker.holds_back());
  EXPECT_EQ(push("]!"), "Ann!");
}

TEST(Unmasker, HasNothingToDoWithoutMasks) {
  EXPECT_EQ(unmasked("[PERSON_1]", MaskTable({})), "[PERSON_1]");
}

}  // namespace
}  // namespace signalbox::pii
