// Tests what requests may hold together: a raise fits or changes nothing, nothing is lost, and of
// those that wait the oldest gets on.

#include "router/http/memory_share.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace signalbox::http {
namespace {

TEST(MemoryShare, a_raise_that_does_not_fit_changes_nothing) {
  const uint64_t most = 100;
  MemoryBound bound(most);
  MemoryShare first(bound), second(bound);
  EXPECT_EQ(first.set(60), Raise::kDone);
  EXPECT_EQ(second.set(41), Raise::kFull);
  EXPECT_EQ(second.bytes(), 0U);
  EXPECT_EQ(bound.held(), 60U);
  EXPECT_EQ(second.set(40), Raise::kDone);
  EXPECT_EQ(second.add(1), Raise::kFull);
  EXPECT_EQ(second.set(UINT64_MAX), Raise::kNever);
  EXPECT_EQ(bound.held(), 100U);
  EXPECT_EQ(bound.refused(), 3U);
  EXPECT_EQ(first.set(10), Raise::kDone) << "fewer bytes always fit";
  EXPECT_EQ(second.add(50), Raise::kDone);
  EXPECT_EQ(bound.held(), 100U);
}

TEST(MemoryShare, lower_never_raises) {
  const uint64_t most = 100;
  MemoryBound bound(most);
  MemoryShare share(bound);
  EXPECT_EQ(share.set(50), Raise::kDone);
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
    EXPECT_EQ(from.set(30), Raise::kDone);
    MemoryShare beside = from.beside();
    EXPECT_EQ(beside.bytes(), 0U);
    EXPECT_EQ(beside.set(20), Raise::kDone);
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
  EXPECT_EQ(share.set(UINT64_MAX), Raise::kDone);
  EXPECT_EQ(share.beside().set(UINT64_MAX), Raise::kDone);
}

/// Waits on one loop without a time limit of their own.
class Waits : public testing::Test {
 protected:
  static constexpr uint64_t kUnit = 1 << 20;  // far more than a small share

  MemoryShare share(uint64_t units) {
    MemoryShare out(bound_);
    EXPECT_EQ(out.set(units * kUnit), Raise::kDone);
    return out;
  }

  /// Raises the share on the loop. `outcome` stays empty while it waits.
  void raise(MemoryShare& share, uint64_t bytes, std::optional<Raise>& outcome) {
    auto timer = std::make_shared<Timer>(loop_.get_executor(), Clock::time_point::max());
    timers_.push_back(timer);
    auto wait = [](MemoryShare& of, uint64_t wanted, std::shared_ptr<Timer> its_timer,
                   const bool& has_left, std::optional<Raise>& out) -> Task<> {
      out = co_await of.wait(wanted, std::move(its_timer), has_left);
      if (out != Raise::kDone) of.lower(0);
    };
    asio::co_spawn(loop_, wait(share, bytes, timer, has_left_, outcome), asio::detached);
    run();
  }

  void run() {
    loop_.restart();
    loop_.poll();
  }

  uint64_t most_ = 10 * kUnit;
  MemoryBound bound_{most_};
  asio::io_context loop_;
  std::vector<std::shared_ptr<Timer>> timers_;
  bool has_left_ = false;
};

TEST_F(Waits, get_returned_memory_in_the_order_of_arrival) {
  MemoryShare running = share(5), first = share(1), second = share(1), third = share(1);
  std::optional<Raise> of_first, of_second, of_third;
  raise(second, 4 * kUnit, of_second);
  raise(first, 5 * kUnit, of_first);
  raise(third, 2 * kUnit, of_third);
  EXPECT_FALSE(of_first || of_second || of_third) << "the third would fit, but it came last";
  running.lower(2 * kUnit);
  run();
  EXPECT_EQ(of_first, Raise::kDone);
  EXPECT_FALSE(of_second || of_third);
  first.lower(0);
  run();
  EXPECT_EQ(of_second, Raise::kDone);
  EXPECT_EQ(of_third, Raise::kDone);
  EXPECT_EQ(bound_.held(), 8 * kUnit);
}

TEST_F(Waits, two_that_stop_each_other_do_not_both_fail) {
  MemoryShare first = share(4), second = share(4);
  std::optional<Raise> of_first, of_second;
  raise(first, 7 * kUnit, of_first);
  EXPECT_FALSE(of_first);
  raise(second, 7 * kUnit, of_second);
  run();
  EXPECT_EQ(of_second, Raise::kFull) << "the younger one is refused";
  EXPECT_EQ(of_first, Raise::kDone);
}

TEST_F(Waits, the_oldest_of_ten_gets_on_however_they_come) {
  for (size_t last = 0; last < 9; ++last) {
    std::vector<MemoryShare> shares;
    std::vector<std::optional<Raise>> outcomes(9);
    for (size_t i = 0; i < 9; ++i) shares.push_back(share(1));
    for (size_t i = 0; i < 9; ++i) {
      const size_t at = (i + last) % 9;
      raise(shares[at], 7 * kUnit, outcomes[at]);
    }
    run();
    EXPECT_EQ(outcomes[0], Raise::kDone);
    EXPECT_LE(bound_.held(), most_);
    // Each one gets on or is refused when those before it have ended.
    for (size_t i = 0; i < 9; ++i) {
      ASSERT_TRUE(outcomes[i]) << i;
      shares[i].lower(0);
      run();
    }
    EXPECT_EQ(bound_.held(), 0U);
  }
}

TEST_F(Waits, small_shares_find_room_beside_large_ones) {
  MemoryShare running = share(9), large = share(0), small(bound_);
  std::optional<Raise> of_large;
  raise(large, 9 * kUnit, of_large);
  EXPECT_FALSE(of_large);
  MemoryShare filling(bound_);
  uint64_t taken = kSmallShare;
  while (filling.set(taken + 1000) == Raise::kDone) taken += 1000;
  EXPECT_EQ(small.set(kSmallShare), Raise::kDone) << "large ones leave it";
  EXPECT_FALSE(of_large);
  running.lower(0);
  filling.lower(0);
  small.lower(0);
  run();
  EXPECT_EQ(of_large, Raise::kDone);
}

TEST_F(Waits, end_with_their_patience_and_with_the_request) {
  MemoryShare running = share(8), first = share(1), second = share(0);
  std::optional<Raise> of_first, of_second;
  raise(first, 4 * kUnit, of_first);
  raise(second, kUnit / 2, of_second);
  EXPECT_FALSE(of_first || of_second);
  wake(*timers_.front());
  run();
  EXPECT_EQ(of_first, Raise::kFull);
  EXPECT_EQ(bound_.refused(), 1U);
  EXPECT_EQ(of_second, Raise::kDone) << "it waited behind the first alone";
  Interrupt interrupt;
  interrupt.raise(Code::kCancelled);
  std::optional<Raise> gone;
  auto wait = [&]() -> Task<> {
    gone = co_await first.wait(9 * kUnit, interrupt, std::chrono::hours(1));
  };
  asio::co_spawn(loop_, wait(), asio::detached);
  run();
  EXPECT_EQ(gone, Raise::kFull);
  EXPECT_EQ(bound_.refused(), 1U) << "its request has ended";
  std::optional<Raise> wide;
  raise(second, 10 * kUnit + 1, wide);
  EXPECT_EQ(wide, Raise::kNever);
  EXPECT_NE(second.refusal(Raise::kNever).message.find("10485760"), std::string::npos);
}

TEST_F(Waits, for_one_request_count_the_memory_of_the_others) {
  MemoryShare first = share(4), second = share(4);
  MemoryShare of_first = first.beside(), of_second = second.beside();
  std::optional<Raise> outcome, other;
  raise(of_first, 3 * kUnit, outcome);
  EXPECT_FALSE(outcome);
  raise(of_second, 3 * kUnit, other);
  run();
  EXPECT_EQ(other, Raise::kFull) << "each would wait for what the other request holds";
  second.lower(0);
  run();
  EXPECT_EQ(outcome, Raise::kDone);
  std::optional<Raise> never;
  raise(second, 2 * kUnit, never);
  EXPECT_EQ(never, Raise::kDone);
  MemoryShare third = first.beside();
  raise(third, 3 * kUnit, never);
  EXPECT_EQ(never, Raise::kNever) << "its request holds 7 of 10 units";
}

TEST_F(Waits, of_one_request_have_its_place_in_the_order) {
  MemoryShare running = share(7), older = share(1), younger = share(1);
  MemoryShare beside = older.beside();
  std::optional<Raise> of_younger, of_beside;
  raise(younger, 2 * kUnit, of_younger);
  raise(beside, 3 * kUnit, of_beside);
  running.lower(6 * kUnit);
  run();
  EXPECT_FALSE(of_younger) << "it would fit now, but came later than the request of the other";
  running.lower(4 * kUnit);
  run();
  EXPECT_EQ(of_beside, Raise::kDone);
  EXPECT_FALSE(of_younger);
  beside.lower(0);
  run();
  EXPECT_EQ(of_younger, Raise::kDone);
}

TEST_F(Waits, of_a_loop_that_ends_leave_the_queue) {
  MemoryShare running = share(9), after = share(0);
  {
    MemoryShare waiting(bound_);
    asio::io_context other;
    auto wait = [&]() -> Task<> {
      auto timer = std::make_shared<Timer>(other.get_executor(), Clock::time_point::max());
      static_cast<void>(co_await waiting.wait(5 * kUnit, timer, has_left_));
    };
    asio::co_spawn(other, wait(), asio::detached);
    other.poll();
  }
  running.lower(0);
  std::optional<Raise> of_after;
  raise(after, 9 * kUnit, of_after);
  EXPECT_EQ(of_after, Raise::kDone);
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
