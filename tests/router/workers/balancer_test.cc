// Tests what lines of data cannot express: the queue of waiting requests, and many concurrent
// threads.

#include "router/workers/balancer.h"
#include "router/workers/back_off.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

namespace signalbox::workers {
namespace {

const TimePoint kNow{std::chrono::hours(1)};

std::vector<Balancer::Named> named(size_t count) {
  std::vector<Balancer::Named> out;
  for (size_t i = 0; i < count; ++i) out.push_back({fmt::format("worker-{}", i)});
  return out;
}

config::Reliability one_each() {
  config::Reliability settings;
  settings.max_in_flight = 1;
  settings.queue_max = 2;
  return settings;
}

TEST(BalancerLine, serves_waiting_requests_in_order_as_workers_become_free) {
  Balancer balancer(one_each(), named(1));
  ASSERT_EQ(balancer.begin({}, {}, kNow).value(), 0U);
  int first = 0, second = 0;
  const auto a = balancer.wait(
      {}, {}, [&] { ++first; }, kNow);
  const auto b = balancer.wait(
      {}, {}, [&] { ++second; }, kNow);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(balancer.wait(
      {}, {}, [] {}, kNow));
  balancer.end(0, 0, Ended::kAnswered, kNow);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  // No request overtakes the one that has the place.
  EXPECT_EQ(balancer.begin({}, {}, kNow).error(), Missing::kRoom);
  EXPECT_EQ(balancer.leave(*a), 0U);
  balancer.end(0, 0, Ended::kAnswered, kNow);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(balancer.leave(*b), 0U);
  EXPECT_EQ(balancer.waiting(), 0U);
}

TEST(BalancerCounts, counts_calls_by_their_end_and_ejections) {
  config::Reliability settings;
  settings.consecutive_5xx = 2;
  Balancer balancer(settings, named(2));
  const auto call = [&](Ended ended) {
    const size_t other[] = {1};
    const size_t worker = balancer.begin({}, other, kNow).value();
    balancer.end(worker, 0, ended, kNow);
  };
  for (const Ended ended : {Ended::kAnswered, Ended::kDropped, Ended::kFailed, Ended::kFailed})
    call(ended);
  const auto first = balancer.status(kNow)[0], second = balancer.status(kNow)[1];
  EXPECT_EQ(first.answered, 1U);
  EXPECT_EQ(first.failed, 2U);
  EXPECT_EQ(first.ejections, 1U);
  EXPECT_TRUE(first.ejected);
  EXPECT_EQ(second.answered + second.failed + second.ejections, 0U);
}

TEST(BalancerLine, a_waiting_request_can_leave_without_a_worker) {
  Balancer balancer(one_each(), named(1));
  ASSERT_TRUE(balancer.begin({}, {}, kNow));
  const auto ticket = balancer.wait(
      {}, {}, [] { FAIL(); }, kNow);
  EXPECT_FALSE(balancer.leave(*ticket));
  balancer.end(0, 0, Ended::kAnswered, kNow);
  EXPECT_EQ(balancer.status(kNow)[0].in_flight, 0U);
}

TEST(BalancerLine, one_request_that_cannot_be_served_does_not_block_the_others) {
  Balancer balancer(one_each(), named(2));
  ASSERT_TRUE(balancer.begin({}, {}, kNow));
  ASSERT_TRUE(balancer.begin({}, {}, kNow));
  const size_t tried[] = {0};
  const auto only_second = balancer.wait(
      {}, tried, [] {}, kNow);
  const auto any = balancer.wait(
      {}, {}, [] {}, kNow);
  balancer.end(0, 0, Ended::kAnswered, kNow);
  EXPECT_FALSE(balancer.leave(*only_second));
  EXPECT_EQ(balancer.leave(*any), 0U);
}

TEST(Balancer, limits_retries_to_a_burst_and_a_share_of_the_calls) {
  Balancer balancer({}, named(2));
  int taken = 0;
  while (balancer.take_retry()) ++taken;
  EXPECT_EQ(taken, 100);
  for (int i = 0; i < 11; ++i)
    balancer.end(balancer.begin({}, {}, kNow).value(), 0, Ended::kAnswered, kNow);
  EXPECT_TRUE(balancer.take_retry());
  EXPECT_TRUE(balancer.take_retry());
  EXPECT_FALSE(balancer.take_retry());
}

TEST(Balancer, a_budget_bounds_the_retries_in_flight) {
  config::Reliability settings;
  settings.retry_budget_min_concurrency = 2;
  settings.retry_budget_percent = 50;
  Balancer balancer(settings, named(2));
  EXPECT_FALSE(balancer.is_free_without_connection());
  std::vector<Balancer::RetryPermit> held;
  for (int i = 0; i < 2; ++i) held.push_back(balancer.take_retry());
  EXPECT_TRUE(held.back());
  EXPECT_FALSE(balancer.take_retry()) << "two at a time, without any other request";
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(balancer.begin({}, {}, kNow));
  held.push_back(balancer.take_retry());
  EXPECT_TRUE(held.back()) << "half of six requests";
  EXPECT_FALSE(balancer.take_retry());
  held.clear();
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(balancer.take_retry()) << "each ends at once";
}

TEST(BackOff, there_is_none_unless_the_file_has_it) {
  EXPECT_EQ(back_off({}, 3, 1, std::chrono::seconds(7)).count(), 0);
}

TEST(BackOff, the_range_grows_up_to_its_bound) {
  config::Reliability settings;
  settings.retry_back_off_base = std::chrono::milliseconds(100);
  EXPECT_EQ(back_off(settings, 1, 0, {}).count(), 0);
  EXPECT_EQ(back_off(settings, 1, 0.5, {}).count(), 50);
  EXPECT_EQ(back_off(settings, 2, 0.5, {}).count(), 150);
  EXPECT_EQ(back_off(settings, 3, 1, {}).count(), 700);
  EXPECT_EQ(back_off(settings, 100, 1, {}).count(), 1000) << "ten times the base";
  settings.retry_back_off_max = std::chrono::milliseconds(120);
  EXPECT_EQ(back_off(settings, 2, 0.5, {}).count(), 120);
  settings.retry_back_off_base = std::chrono::milliseconds(0);
  EXPECT_EQ(back_off(settings, 1, 1, {}).count(), 25);
}

TEST(BackOff, a_server_sets_the_wait_up_to_a_bound) {
  config::Reliability settings;
  settings.retry_back_off_base = std::chrono::milliseconds(100);
  settings.retry_after_max = std::chrono::milliseconds(2500);
  EXPECT_EQ(back_off(settings, 1, 0, std::chrono::seconds(1)).count(), 1000);
  EXPECT_EQ(back_off(settings, 1, 0, std::chrono::seconds(9)).count(), 2500);
  EXPECT_EQ(back_off(settings, 1, 0.5, {}).count(), 50);
}

// If one of n workers disappears, only its sessions move.
TEST(Balancer, moves_no_session_without_need) {
  config::Reliability settings;
  settings.lb_policy = config::Reliability::Policy::kSession;
  Balancer all(settings, named(10));
  Balancer fewer(settings, named(9));
  std::map<size_t, int> shares;
  for (int i = 0; i < 2000; ++i) {
    const std::string session = fmt::format("session {}", i);
    const size_t before = all.begin({{}, session}, {}, kNow).value();
    const size_t after = fewer.begin({{}, session}, {}, kNow).value();
    all.end(before, 0, Ended::kAnswered, kNow);
    fewer.end(after, 0, Ended::kAnswered, kNow);
    ASSERT_TRUE(before == 9 || before == after) << session;
    ++shares[before];
  }
  for (const auto& [worker, share] : shares) {
    EXPECT_GT(share, 140) << worker;
    EXPECT_LT(share, 260) << worker;
  }
}

TEST(Balancer, counts_right_with_many_threads) {
  config::Reliability settings;
  settings.lb_policy = config::Reliability::Policy::kPrefix;
  settings.max_in_flight = 2;
  settings.queue_max = 64;
  settings.prefix_blocks_max = 64;
  Balancer balancer(settings, named(3));
  std::atomic<int> served{0}, woken{0}, refused{0};
  const auto work = [&](uint64_t seed) {
    for (uint64_t i = 0; i < 2000; ++i) {
      const std::string prompt = fmt::format("{:0>64}", (seed * 31 + i) % 50);
      const std::string_view parts[] = {prompt};
      const auto blocks = prefix_blocks(parts, 16);
      const auto got = balancer.begin({blocks, {}}, {}, kNow);
      std::optional<size_t> worker;
      if (got) {
        worker = *got;
      } else if (const auto ticket = balancer.wait(
                     {blocks, {}}, {}, [&] { ++woken; }, kNow)) {
        std::this_thread::yield();
        worker = balancer.leave(*ticket);
      }
      if (!worker) {
        ++refused;
        continue;
      }
      const auto how = i % 7 == 0 ? Ended::kFailed : Ended::kAnswered;
      balancer.end(*worker, blocks.size(), how, kNow + std::chrono::milliseconds(i));
      ++served;
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  threads.emplace_back([&] {
    for (int i = 0; i < 500; ++i) {
      balancer.checked(i % 3, i % 5 != 0, kNow);
      balancer.loaded(i % 3, Load{1, 2, 0.5});
      balancer.status(kNow);
    }
  });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(served + refused, 8000);
  for (const auto& each : balancer.status(kNow)) EXPECT_EQ(each.in_flight, 0U);
  EXPECT_EQ(balancer.waiting(), 0U);
}

}  // namespace
}  // namespace signalbox::workers
