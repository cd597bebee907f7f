// Tests when a server that fails is called again. A test passes the time itself.

#include "router/upstream/breaker.h"

#include <gtest/gtest.h>

namespace signalbox::upstream {
namespace {

using namespace std::chrono_literals;

class BreakerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < Breaker::kFailuresMax; ++i) breaker_.record(false, TimePoint{});
  }
  /// `limit` is the greatest time of a call.
  bool allows(std::chrono::milliseconds at, std::chrono::milliseconds limit) {
    return breaker_.allows(TimePoint{} + at, limit);
  }

  Breaker breaker_;
};

TEST_F(BreakerTest, allows_no_second_call_while_one_waits_for_a_silent_server) {
  EXPECT_FALSE(allows(999ms, 10s));
  EXPECT_TRUE(allows(1s, 10s));
  for (const auto at : {1s, 2s, 9s, 10s}) EXPECT_FALSE(allows(at, 10s));
  breaker_.record(false, TimePoint{} + 11s);
  EXPECT_FALSE(allows(11s, 10s));
  EXPECT_TRUE(allows(12s, 10s));
  breaker_.record(true, TimePoint{} + 13s);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(allows(13s, 10s));
}

TEST_F(BreakerTest, allows_another_call_soon_if_one_is_given_up) {
  EXPECT_TRUE(allows(1s, 10s));
  breaker_.give_up(TimePoint{} + 2s);
  EXPECT_FALSE(allows(2s, 10s));
  EXPECT_TRUE(allows(3s, 10s));
}

TEST_F(BreakerTest, allows_another_call_if_the_end_of_one_is_never_recorded) {
  EXPECT_TRUE(allows(1s, 10s));
  EXPECT_TRUE(allows(11s, 10s));
}

}  // namespace
}  // namespace signalbox::upstream
