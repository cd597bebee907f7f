// Tests the bounds of RecentlyUsed, and what it drops first.

#include "base/recently_used.h"

#include <gtest/gtest.h>

namespace signalbox {
namespace {

TEST(RecentlyUsed, drops_the_value_whose_use_is_longest_ago) {
  RecentlyUsed<int> values(2);
  values.keep("a", 1);
  values.keep("b", 2);
  EXPECT_EQ(values.find("a"), 1);
  values.keep("c", 3);
  EXPECT_EQ(values.find("a"), 1);
  EXPECT_EQ(values.find("b"), std::nullopt);
  EXPECT_EQ(values.find("c"), 3);
}

TEST(RecentlyUsed, replaces_the_value_of_a_key) {
  RecentlyUsed<int> values(2);
  values.keep("a", 1);
  values.keep("a", 2);
  values.keep("b", 3);
  EXPECT_EQ(values.find("a"), 2);
  EXPECT_EQ(values.find("b"), 3);
}

TEST(RecentlyUsed, stays_within_its_bytes) {
  RecentlyUsed<int> values(9, 10);
  values.keep("a", 1, 6);
  values.keep("b", 2, 4);
  values.keep("c", 3, 11);
  EXPECT_EQ(values.find("c"), std::nullopt);
  EXPECT_EQ(values.find("a"), 1);
  values.keep("d", 4, 1);
  EXPECT_EQ(values.find("b"), std::nullopt);
  EXPECT_EQ(values.find("a"), 1);
  values.keep("a", 5, 9);
  EXPECT_EQ(values.find("d"), 4);
  EXPECT_EQ(values.find("a"), 5);
}

}  // namespace
}  // namespace signalbox
