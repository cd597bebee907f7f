// Tests a server through which several routers share answers, and its troubles under traffic: it is
// killed, stopped, half a second away, or its disk is full. No user's request may fail, and the
// routers must reconnect by themselves.

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "tests/router/net/cache_site.h"
#include "tests/router/net/slow_path.h"
#include "tests/router/postgres_process.h"
#include "tests/router/redis_process.h"

namespace signalbox::test {
namespace {

using std::chrono::milliseconds;

/// Users who send requests all the time, each question twice, and the outcome.
class Users {
 public:
  explicit Users(const Site& site) {
    for (int user = 0; user < 3; ++user)
      threads_.emplace_back([this, &site, user] { ask(site, user); });
  }
  ~Users() { end(); }

  void end() {
    over_ = true;
    for (std::thread& each : threads_) each.join();
    threads_.clear();
  }
  std::atomic<int> asked{0}, failed{0}, hits{0};
  std::atomic<int64_t> longest_ms{0};  // the longest that a request has waited

 private:
  void ask(const Site& site, int user) {
    for (int i = 0; !over_; ++i) {
      const auto began = std::chrono::steady_clock::now();
      const Reply reply = site.ask(fmt::format("exactly what is {} of {}?", i / 2, user));
      const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - began);
      ++asked;
      failed += reply.status == 200 ? 0 : 1;
      hits += is_hit(reply) ? 1 : 0;
      if (took.count() > longest_ms) longest_ms = took.count();
    }
  }

  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

/// Returns whether an answer of the first router reaches the second in time.
bool are_joined(const Site& first, const Site& second) {
  for (int i = 0; i < 300; ++i) {
    const std::string question = fmt::format("exactly what comes at last, {}?", i / 50);
    first.ask(question);
    if (is_hit(second.ask(question, "x-vsr-cache-control: no-store\r\n"))) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

struct Trouble {
  std::string_view name;
  std::function<void()> begins, ends;
};

/// While a shared server has each of the troubles in turn, no request may fail or wait long, and
/// the routers must reconnect after each.
void expect_no_harm(const std::string& backend, const std::vector<Trouble>& troubles) {
  Counting server;
  const std::string text =
      fmt::format("{}  stores: {{response_cache: {{backend_type: {}}}}}\n", kKeepsAnswers, backend);
  const Site first(server.script(), text), second(server.script(), text);
  const auto wait = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  for (const Trouble& trouble : troubles) {
    ASSERT_TRUE(are_joined(first, second)) << "before it is " << trouble.name;
    Users users(first);
    wait(300);
    trouble.begins();
    wait(1200);
    trouble.ends();
    wait(300);
    users.end();
    EXPECT_EQ(users.failed, 0) << trouble.name << ": of " << users.asked;
    EXPECT_GT(users.asked, 0) << trouble.name;
    EXPECT_LT(users.longest_ms, kPatience.count() * 1000 / 4) << trouble.name;
  }
  EXPECT_TRUE(are_joined(first, second)) << "it is found again";
}

/// The troubles that any server can have.
template <class Process>
std::vector<Trouble> usual(Process& process, SlowPath& path) {
  return {{"dead", [&] { process.server().end(); }, [&] { process.start(); }},
          {"stopped", [&] { process.server().signal(SIGSTOP); },
           [&] { process.server().signal(SIGCONT); }},
          {"slow", [&] { path.set_delay(milliseconds(500)); },
           [&] { path.set_delay(milliseconds(0)); }}};
}

class CacheOnTroubledRedis : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Redis, CacheOnTroubledRedis, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "with_tls" : "in_the_clear");
});

TEST_P(CacheOnTroubledRedis, fails_no_request) {
  if (const std::string missing = RedisProcess::missing(GetParam()); !missing.empty())
    GTEST_SKIP() << missing;
  RedisProcess redis(GetParam());
  redis.start();
  SlowPath path(redis.server().port());
  expect_no_harm(fmt::format("redis, redis: {{{}}}", redis.keys(path.port())), usual(redis, path));
}

TEST(CacheOnTroubledPostgres, fails_no_request) {
  if (const std::string missing = PostgresProcess::missing(); !missing.empty())
    GTEST_SKIP() << missing;
  PostgresProcess postgres;
  const std::string no_disk = postgres.add_small_disk();
  postgres.start();
  SlowPath path(postgres.server().port());
  std::vector<Trouble> troubles = usual(postgres, path);
  if (no_disk.empty()) {
    troubles.push_back({"full", [&] { EXPECT_TRUE(postgres.disk().fill()); },
                        [&] { postgres.disk().make_room(); }});
  }
  expect_no_harm(fmt::format("postgres, postgres: {{{}}}", postgres.keys(path.port())), troubles);
  if (!no_disk.empty()) GTEST_SKIP() << "but for the full disk: " << no_disk;
}

}  // namespace
}  // namespace signalbox::test
