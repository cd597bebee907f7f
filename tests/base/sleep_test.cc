// Tests the pause of a thread, without waiting for time to pass.

#include "base/sleep.h"

#include <gtest/gtest.h>

#include <thread>

namespace signalbox {
namespace {

using namespace std::chrono_literals;

TEST(Sleep, ends_with_its_time) {
  EXPECT_TRUE(sleep(std::stop_source().get_token(), 0ms));
}

TEST(Sleep, ends_early_if_a_stop_is_requested) {
  std::stop_source stop;
  bool has_slept = true;
  std::jthread sleeper([&] { has_slept = sleep(stop.get_token(), 1h); });
  stop.request_stop();
  sleeper.join();
  EXPECT_FALSE(has_slept);
  EXPECT_FALSE(sleep(stop.get_token(), 1h));
}

}  // namespace
}  // namespace signalbox
