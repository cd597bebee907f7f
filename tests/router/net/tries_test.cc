// Tests the time limits of a call with several tries, the waits between them, and their budget.

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <future>
#include <thread>

#include "router/upstream/lease.h"
#include "tests/router/net/balance_site.h"

namespace signalbox::test {
namespace {

using Clock = std::chrono::steady_clock;

/// A server that begins its reply and never continues it.
Upstream stalled() {
  return Upstream([](Wire& wire, int) {
    wire.read_request();
    wire.send(std::string(kStreamHead) + chunk("data: 1\n\n"));
    wire.read_request();  // until the router closes the connection
  });
}

TEST(Tries, a_reply_that_pauses_for_too_long_ends) {
  Upstream server = stalled();
  config::Reliability settings;
  settings.idle_timeout = 100ms;
  Site site({server.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body.find("data: 1\n\n"), 0U);
  EXPECT_FALSE(reply.complete);
  EXPECT_TRUE(eventually([&] { return site.status(0).failed == 1; }));
}

TEST(Tries, a_call_ends_after_its_total_time) {
  Upstream server = stalled();
  config::Reliability settings;
  settings.total_timeout = 100ms;
  Site site({server.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.complete);
}

TEST(Tries, no_other_server_is_tried_once_the_total_time_is_over) {
  Server a("a"), b("b");
  a.wait_before_answers(1s);
  config::Reliability settings;
  settings.total_timeout = 100ms;
  Site site({a.port(), b.port()}, settings);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 504);
  EXPECT_NE(reply.body.find("100 ms, the total_timeout of the model"), std::string::npos)
      << reply.body;
  EXPECT_EQ(b.asked(), 0);
}

TEST(Tries, a_budget_of_no_retries_allows_none) {
  Server b("b");
  config::Reliability settings;
  settings.retry_budget_percent = 0;
  settings.retry_budget_min_concurrency = 0;
  Site site({closed_port(), b.port()}, settings);
  EXPECT_EQ(site.ask().status, 502);
  EXPECT_EQ(b.asked(), 0);
}

/// Settings under which a server's Retry-After sets the wait, up to `most`.
config::Reliability waiting(std::chrono::milliseconds most) {
  config::Reliability settings;
  settings.retry_after_max = most;
  return settings;
}

TEST(Tries, another_server_is_tried_after_the_wait_that_a_refusal_demands) {
  for (const char* seconds : {"1", "99999999999"}) {
    Server a("a"), b("b");
    a.answer(status_reply(503, fmt::format("Retry-After: {}\r\n", seconds)));
    Site site({a.port(), b.port()}, waiting(100ms));
    const auto began = Clock::now();
    EXPECT_EQ(site.ask().body, "b");
    EXPECT_GE(Clock::now() - began, 100ms) << seconds;
  }
}

TEST(Tries, no_wait_goes_past_the_total_time) {
  Server a("a"), b("b");
  a.answer(status_reply(503, "Retry-After: 3\r\n"));
  config::Reliability settings = waiting(5s);
  settings.total_timeout = 1s;
  Site site({a.port(), b.port()}, settings);
  const auto began = Clock::now();
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "oops");
  EXPECT_LT(Clock::now() - began, 3s);
  EXPECT_EQ(b.asked(), 0);
}

TEST(Tries, the_time_limit_of_the_request_ends_a_wait) {
  Server a("a"), b("b");
  a.answer(status_reply(503, "Retry-After: 9\r\n"));
  Site site({a.port(), b.port()}, waiting(10s), 300ms);
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(reply.headers.at("x-attempts"), "1");
  EXPECT_EQ(reply.headers.at("x-elsewhere"), "no");
  EXPECT_EQ(b.asked(), 0);
  EXPECT_EQ(site.status(1).failed, 0U);
}

TEST(Tries, a_client_that_leaves_during_a_wait_reaches_no_other_server) {
  Server a("a"), b("b");
  a.answer(status_reply(503, "Retry-After: 1\r\n"));
  Site site({a.port(), b.port()}, waiting(1s));
  {
    Wire leaves = site.connect();
    leaves.send(post("/v1/chat/completions", "{}"));
    EXPECT_TRUE(eventually([&] { return site.status(0).failed == 1; }));
  }
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(b.asked(), 0);
}

TEST(Tries, a_request_that_waits_is_at_no_server) {
  Server a("a"), b("b");
  a.answer(status_reply(503, "Retry-After: 2\r\n"));
  config::Reliability settings = waiting(5s);
  settings.max_in_flight = 1;
  Site site({a.port(), b.port()}, settings);
  auto first = std::async(std::launch::async, [&] { return site.ask(); });
  EXPECT_TRUE(eventually([&] { return site.status(0).failed == 1; }));
  EXPECT_EQ(site.status(0).in_flight, 0U);
  EXPECT_EQ(site.status(1).in_flight, 0U);
  EXPECT_EQ(site.ask().headers.at("x-attempts"), "1");
  EXPECT_EQ(b.asked(), 1);
  EXPECT_EQ(first.get().body, "b");
}

TEST(Tries, a_refusal_is_kept_until_another_server_is_free) {
  Server a("a"), b("b");
  a.answer(status_reply(503, "Retry-After: 1\r\n"));
  b.wait_before_answers(2s);
  config::Reliability settings = waiting(100ms);
  settings.max_in_flight = 1;
  Site site({a.port(), b.port()}, settings);
  auto first = std::async(std::launch::async, [&] { return site.ask(); });
  EXPECT_TRUE(eventually([&] { return b.asked() == 1; }));
  const Reply reply = site.ask();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "oops");
  EXPECT_EQ(reply.headers.at("retry-after"), "1");
  EXPECT_EQ(reply.headers.at("x-elsewhere"), "yes");
  EXPECT_EQ(first.get().body, "b");
}

// Requests that got their place late must not count against the servers.
TEST(Tries, the_total_time_also_bounds_the_queue) {
  Server a("a"), b("b");
  for (Server* each : {&a, &b}) each->wait_before_answers(600ms);
  config::Reliability settings;
  settings.max_in_flight = 1;
  settings.total_timeout = 1s;
  settings.consecutive_5xx = 1;
  Site site({a.port(), b.port()}, settings);
  std::vector<std::future<Reply>> replies;
  for (int i = 0; i < 10; ++i)
    replies.push_back(std::async(std::launch::async, [&] { return site.ask(); }));
  std::map<int, int> statuses;
  for (auto& each : replies) ++statuses[each.get().status];
  EXPECT_GE(statuses[200], 1);
  EXPECT_GE(statuses[429], 1);
  EXPECT_GE(statuses[504], 1);
  for (const auto& each : site.status()) EXPECT_EQ(each.failed, 0U) << each.name;
}

TEST(Tries, a_request_counts_once_for_the_budget) {
  config::Reliability settings;
  settings.retry_count = 2;
  settings.retry_budget_min_concurrency = 1;
  settings.retry_budget_percent = 0;
  Server good("c"), refuses("b");
  refuses.answer(status_reply(503, "Retry-After: 1\r\n"));
  EXPECT_EQ(Site({closed_port(), closed_port(), good.port()}, settings).ask().body, "c");
  EXPECT_EQ(Site({closed_port(), refuses.port(), good.port()}, settings).ask().body, "c");
}

TEST(Tries, the_request_itself_is_in_flight_for_the_budget) {
  config::Reliability settings;
  settings.retry_budget_min_concurrency = 0;
  settings.retry_budget_percent = 100;
  Server good("b"), refuses("a");
  refuses.answer(status_reply(503, "Retry-After: 1\r\n"));
  EXPECT_EQ(Site({closed_port(), good.port()}, settings).ask().body, "b");
  EXPECT_EQ(Site({refuses.port(), good.port()}, settings).ask().body, "b");
}

/// Returns a piece after each of these waits: one without bytes, as if nudged, and then one with.
class SlowReply final : public upstream::UpstreamReply {
 public:
  explicit SlowReply(std::vector<std::chrono::milliseconds> waits) : waits_(std::move(waits)) {}
  const http::Response& head() const override { return head_; }
  bool ready() const override { return false; }
  http::Task<Result<upstream::Piece>> next() override {
    http::Timer timer(co_await http::asio::this_coro::executor);
    timer.expires_after(waits_[at_]);
    co_await timer.async_wait(http::kAwait);
    co_return upstream::Piece{at_++ % 2 == 0 ? "" : "x"};
  }

 private:
  const std::vector<std::chrono::milliseconds> waits_;
  size_t at_ = 0;
  http::Response head_;
};

/// Returns true if a reply with these waits has ended for its pauses. Its reader takes 500 ms for
/// each piece; idle_timeout is 300 ms.
bool is_idle_after(std::vector<std::chrono::milliseconds> waits) {
  http::asio::io_context loop;
  const workers::Balancer::Named named[] = {{"a"}};
  workers::Balancer balancer({}, named);
  http::Interrupt request;
  auto limit =
      std::make_unique<upstream::ReplyLimit>(loop, request, upstream::AttemptTimes{.idle = 300ms});
  upstream::ReplyLimit& watched = *limit;
  const size_t worker = balancer.begin({}, {}, http::Clock::now()).value();
  const size_t count = waits.size();
  upstream::LeasedReply reply(std::make_unique<SlowReply>(std::move(waits)),
                              upstream::Lease(balancer, "m", worker, 0), std::move(limit));
  const auto read = [&]() -> http::Task<> {
    http::Timer timer(co_await http::asio::this_coro::executor);
    for (size_t i = 0; i < count; ++i) {
      const auto piece = co_await reply.next();
      EXPECT_TRUE(piece);
      timer.expires_after(500ms);
      co_await timer.async_wait(http::kAwait);
    }
  };
  http::asio::co_spawn(http::Executor(loop.get_executor()), read(), http::asio::detached);
  loop.run();
  return watched.is_idle();
}

TEST(Tries, only_the_waits_for_the_server_count_for_a_pause) {
  EXPECT_FALSE(is_idle_after({100ms, 50ms, 100ms, 50ms}));
  EXPECT_TRUE(is_idle_after({200ms, 300ms})) << "both are one pause";
}

}  // namespace
}  // namespace signalbox::test
