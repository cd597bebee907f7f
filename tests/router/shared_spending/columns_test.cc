// Tests names as texts of ASCII, and rows of totals.

#include "router/shared_spending/columns.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace signalbox::shared_spending {
namespace {

TEST(Columns, names_are_ascii_and_come_back) {
  EXPECT_EQ(escaped("team-1"), "team-1");
  EXPECT_EQ(escaped("a\\b"), "a\\\\b");
  EXPECT_EQ(escaped("ö"), "\\303\\266");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string text = escaped(all);
  for (const char each : text) EXPECT_TRUE(each > 0);
  EXPECT_EQ(unescaped(text), all);
  for (const char* wrong : {"\\", "\\1", "\\12", "\\128", "\\400", "\\+12"})
    EXPECT_FALSE(unescaped(wrong)) << wrong;
}

TEST(Columns, totals_have_a_kind_a_day_and_an_amount) {
  using Row = std::array<std::string, 5>;
  const auto read = read_total(Row{"group/month", "20000", "USD", "g", "1.5"});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->key.by, config::Spending::By::kGroup);
  EXPECT_EQ(read->key.per, config::Spending::Per::kMonth);
  EXPECT_EQ(read->key.begin, 20000);
  EXPECT_DOUBLE_EQ(read->amount, 1.5);
  for (const Row& wrong :
       {Row{"", "1", "USD", "g", "1"}, Row{"key", "1", "USD", "g", "1"},
        Row{"key/", "1", "USD", "g", "1"}, Row{"key/day", "", "USD", "g", "1"},
        Row{"key/day", "1", "USD", "\\", "1"}, Row{"key/day", "1", "USD", "g", "-1"},
        Row{"key/day", "1", "USD", "g", "inf"}, Row{"key/day", "1", "USD", "g", "1x"}})
    EXPECT_FALSE(read_total(wrong)) << wrong[0] << wrong[4];
}

TEST(Columns, numbers_that_no_column_takes_are_bounded) {
  spending::Batch batch;
  batch.sums.requests[{}] = {.requests = std::numeric_limits<uint64_t>::max(),
                             .cost = std::numeric_limits<double>::infinity()};
  const std::string text = text_of(batch);
  EXPECT_NE(text.find("\"requests\":1099511627776,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"cost\":0"), std::string::npos) << text;
}

}  // namespace
}  // namespace signalbox::shared_spending
