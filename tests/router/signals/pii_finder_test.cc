// Tests the places of personal data in plain and in encoded text.

#include "router/signals/pii_finder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "base/base64.h"

namespace signalbox::signals {
namespace {

std::vector<pii::PiiEntity> found_in(const std::string& text) {
  const auto no_model = [](std::string_view) { return std::vector<engine::Entity>(); };
  return PiiFinder({}).entities({text}, no_model)->in.front();
}

TEST(PiiFinder, finds_encoded_data_between_plain_data_in_text_order) {
  const std::string code = base64::encode("mail ada@example.org today");
  const std::string text = "a@b.com " + code + " c@d.com";
  const auto found = found_in(text);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(text.substr(found[0].begin, found[0].end - found[0].begin), "a@b.com");
  EXPECT_EQ(found[1].begin, 8U);
  EXPECT_EQ(found[1].type, "EMAIL_ADDRESS");
  EXPECT_EQ(text.substr(found[2].begin, found[2].end - found[2].begin), "c@d.com");
}

// Four times as many findings must take about four times as long; a quadratic algorithm would take
// sixteen times as long. Measures processor time, because the machine may be busy.
TEST(PiiFinder, takes_time_in_proportion_to_the_findings) {
  const auto seconds = [](int pairs) {
    std::string text;
    for (int i = 0; i < pairs; ++i)
      text += fmt::format("u{}@b.com {} ", i, base64::encode(fmt::format("to u{}@b.com now", i)));
    const std::clock_t from = std::clock();
    EXPECT_EQ(found_in(text).size(), 2U * pairs);
    return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  };
  const double one = seconds(10'000);
  EXPECT_LT(seconds(40'000), 8 * one + 0.05);
}

}  // namespace
}  // namespace signalbox::signals
