// Tests what requests may hold together: a raise fits or changes nothing, and nothing is lost.

#include "router/http/memory_share.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace signalbox::http {
namespace {

TEST(MemoryShare, a_raise_that_does_not_fit_changes_nothing) {
  const uint64_t most = 100;
  MemoryBound bound(most);
  MemoryShare first(bound), second(bound);
  EXPECT_TRUE(first.set(60));
  EXPECT_FALSE(second.set(41));
  EXPECT_EQ(second.bytes(), 0U);
  EXPECT_EQ(bound.held(), 60U);
  EXPECT_TRUE(second.set(40));
  EXPECT_FALSE(second.add(1));
  EXPECT_FALSE(second.set(UINT64_MAX));
  EXPECT_EQ(bound.held(), 100U);
  EXPECT_EQ(bound.refused(), 3U);
  EXPECT_TRUE(first.set(10)) << "fewer bytes always fit";
  EXPECT_TRUE(second.add(50));
  EXPECT_EQ(bound.held(), 100U);
}

TEST(MemoryShare, lower_never_raises) {
  const uint64_t most = 100;
  MemoryBound bound(most);
  MemoryShare share(bound);
  EXPECT_TRUE(share.set(50));
  share.lower(70);
  EXPECT_EQ(share.bytes(), 50U);
  share.lower(20);
  EXPECT_EQ(bound.held(), 20U);
}

TEST(MemoryShare, gives_back_at_its_end_and_once_if_it_was_moved) {
  const uint64_t most = 100;
  MemoryBound bound(most);
  {
    MemoryShare from(bound);
    EXPECT_TRUE(from.set(30));
    MemoryShare beside = from.beside();
    EXPECT_EQ(beside.bytes(), 0U);
    EXPECT_TRUE(beside.set(20));
    MemoryShare to = std::move(from);
    EXPECT_EQ(to.bytes(), 30U);
    beside = std::move(to);
    EXPECT_EQ(beside.bytes(), 30U);
    EXPECT_EQ(bound.held(), 50U);
  }
  EXPECT_EQ(bound.held(), 0U);
}

TEST(MemoryShare, of_no_bound_takes_anything) {
  MemoryShare share;
  EXPECT_TRUE(share.set(UINT64_MAX));
  EXPECT_TRUE(share.beside().set(UINT64_MAX));
}

TEST(MemoryShare, shares_of_many_threads_never_exceed_the_bound) {
  const uint64_t most = 1000;
  MemoryBound bound(most);
  std::atomic<bool> has_exceeded = false;
  const auto work = [&](uint64_t step) {
    MemoryShare share(bound);
    for (uint64_t i = 1; i < 20'000; ++i) {
      (void)share.set(i * step % 700);
      if (bound.held() > most) has_exceeded = true;
    }
  };
  std::vector<std::thread> threads;
  for (const uint64_t step : {7U, 11U, 13U}) threads.emplace_back(work, step);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(has_exceeded);
  EXPECT_EQ(bound.held(), 0U);
}

}  // namespace
}  // namespace signalbox::http
