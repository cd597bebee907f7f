// Tests counts that routers share over a real Redis, which loses its data, stops, or is full.

#include "router/shared_counts/shared_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "router/shared_counts/scripts.h"
#include "router/spending/budgets.h"
#include "tests/router/redis_process.h"
#include "tests/router/temporary_directory.h"

namespace signalbox::shared_counts {
namespace {

using config::RateLimit;
using config::Spending;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::string_view kPrefix = "signalbox:counts:";

/// Waits for something that happens by itself.
void wait_for(const std::function<bool()>& holds) {
  const auto end = steady_clock::now() + seconds(30);
  while (!holds()) {
    ASSERT_LT(steady_clock::now(), end) << "it did not happen";
    std::this_thread::sleep_for(milliseconds(5));
  }
}

RateLimit hourly(uint64_t requests) {
  RateLimit::Rule rule;
  rule.name = "each";
  rule.requests_per_unit = requests;
  rule.unit = std::chrono::hours(1);
  return config::local_limit({rule});
}

/// One router, as far as its counts go.
class Site {
 public:
  Site(uint16_t port, std::filesystem::path file) {
    config_.shared_counts.redis.host = "127.0.0.1";
    config_.shared_counts.redis.port = port;
    config_.spending.emplace();
    Spending::Budget budget;
    budget.name = "each";
    budget.amount = 1000;
    config_.spending->budgets.push_back(budget);
    auto ledger = spending::Ledger::open(file);
    EXPECT_TRUE(ledger);
    ledger_ = *std::move(ledger);
    start();
  }

  void start() {
    auto counts = SharedCounts::open(config_, limiter_, ledger_.get());
    EXPECT_TRUE(counts) << (counts ? "" : counts.error().message);
    if (counts) counts_ = *std::move(counts);
  }
  void stop() { counts_.reset(); }

  /// Applies a file in which the budget is for one key, or for each ("").
  void budget_of(std::string key) {
    config_.spending->budgets[0].of = std::move(key);
    counts_->configure(config_);
  }
  void spend(double cost) {
    spending::Account account;
    account.day = spending::day_of(std::chrono::system_clock::now());
    account.key = "a";
    account.currency = "USD";
    spending::Spent spent;
    spent.cost = cost;
    ledger_->add(account, spent);
  }
  double spent() const {
    return ledger_->cost_of(Spending::By::kKey, "a", "USD", Spending::Per::kMonth,
                            spending::day_of(std::chrono::system_clock::now()));
  }
  bool admits(uint64_t of) {
    return !limiter_.admit(hourly(of), {"ann", "", ""}, steady_clock::now());
  }
  SharedCounts::Stats stats() const { return counts_->stats(); }
  bool works() const { return stats().works; }

  /// Waits until everything is reported, and what the others have reported is known.
  void settle() const {
    wait_for([&] { return stats().unreported == 0; });
    const uint64_t before = stats().succeeded;
    wait_for([&] { return stats().succeeded >= before + 2; });
  }

 private:
  config::Config config_;
  limits::RateLimiter limiter_;
  std::unique_ptr<spending::Ledger> ledger_;
  std::unique_ptr<SharedCounts> counts_;
};

class SharedCountsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = test::RedisProcess::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    redis_.start();
    client_ = std::make_unique<stores::Redis>(redis_.address());
    for (int i = 0; i < 2; ++i) sites_.push_back(make("s" + std::to_string(i)));
  }
  std::unique_ptr<Site> make(const std::string& name) {
    return std::make_unique<Site>(redis_.server().port(), folder_.path() / (name + ".db"));
  }
  void settle() {
    for (const auto& site : sites_) site->settle();
    for (const auto& site : sites_) site->settle();
  }
  void wait_until_works(bool works) {
    wait_for([&] {
      return std::ranges::all_of(sites_, [&](const auto& site) { return site->works() == works; });
    });
  }
  /// Returns how many names of ledgers the routers report.
  size_t ledgers() {
    const auto all = client_->run({"HVALS", fmt::format("{}routers", kPrefix)}, milliseconds(500));
    std::set<std::string> out;
    for (const auto& each : all ? all->items : std::vector<stores::RedisValue>{}) {
      const size_t begin = each.text.find(' ') + 1;
      out.insert(each.text.substr(begin, each.text.find(' ', begin) - begin));
    }
    return out.size();
  }
  Site& a() { return *sites_[0]; }
  Site& b() { return *sites_[1]; }

  const test::TemporaryDirectory folder_;
  test::RedisProcess redis_{false};
  std::unique_ptr<stores::Redis> client_;
  std::vector<std::unique_ptr<Site>> sites_;
};

TEST_F(SharedCountsTest, every_router_knows_the_sum_and_counts_it_once) {
  a().spend(1);
  b().spend(0.1);
  b().spend(0.2);
  settle();
  EXPECT_DOUBLE_EQ(a().spent(), 1.3);
  EXPECT_DOUBLE_EQ(b().spent(), 1.3);
  wait_for([&] { return a().stats().routers == 2; });
  const auto late = make("late");
  EXPECT_DOUBLE_EQ(late->spent(), 1.3);  // before its first request
}

TEST_F(SharedCountsTest, routers_fill_one_bucket) {
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(sites_[static_cast<size_t>(i % 2)]->admits(6));
    settle();
  }
  EXPECT_FALSE(a().admits(6));
  EXPECT_FALSE(b().admits(6));
  EXPECT_FALSE(make("late")->admits(6));
}

TEST_F(SharedCountsTest, a_report_that_comes_twice_counts_once) {
  const auto report = [&](const char* batch) {
    return client_->run({"EVAL", buckets_script(), "1", kPrefix, "router", batch, "0", "bucket",
                         "10", "0", "3600", "2", "0", "2", "0", "0"},
                        milliseconds(500));
  };
  // The second 1 and 2 after a higher number arrive late, over another connection.
  const std::vector<std::pair<const char*, double>> batches{{"1", 2}, {"1", 2},  {"2", 4}, {"1", 4},
                                                            {"2", 4}, {"10", 6}, {"2", 6}};
  for (const auto& [batch, used] : batches) {
    const auto reply = report(batch);
    ASSERT_TRUE(reply) << reply.error().message;
    const auto read = read_buckets(*reply);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->entries.size(), 1U);
    EXPECT_NEAR(read->entries[0].requests, used, 0.01) << batch;
  }
}

TEST_F(SharedCountsTest, a_smaller_total_changes_nothing) {
  const std::string name =
      name_of({Spending::By::kKey, Spending::Per::kDay, 1'000'000, "a", "USD"});
  for (const char* amount : {"5", "3", "5"}) {
    const auto reply = client_->run(
        {"EVAL", totals_script(), "1", kPrefix, "me", "0", name, "99999999999", amount},
        milliseconds(500));
    ASSERT_TRUE(reply) << reply.error().message;
    const auto read = read_totals(*reply);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->entries.size(), 1U);
    EXPECT_EQ(read->entries[0].own, 5);
    EXPECT_EQ(read->entries[0].others, 0);
  }
}

TEST_F(SharedCountsTest, counts_survive_a_server_that_forgets_everything) {
  a().spend(1);
  b().spend(2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(a().admits(6));
  settle();
  ASSERT_TRUE(client_->run({"FLUSHALL"}, milliseconds(500)));
  settle();
  EXPECT_DOUBLE_EQ(a().spent(), 3);
  EXPECT_DOUBLE_EQ(b().spent(), 3);
  const auto late = make("late");
  EXPECT_DOUBLE_EQ(late->spent(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(late->admits(6)) << i;
  EXPECT_FALSE(late->admits(6));
}

TEST_F(SharedCountsTest, counts_survive_a_server_that_returns_with_an_older_state) {
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(a().admits(6));
  a().spend(1);
  settle();
  ASSERT_TRUE(client_->run({"SAVE"}, seconds(5)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(a().admits(6));
  a().spend(2);
  settle();
  redis_.server().end();
  wait_until_works(false);
  EXPECT_TRUE(b().admits(6));
  redis_.start();
  wait_until_works(true);
  settle();
  EXPECT_FALSE(a().admits(6));
  EXPECT_FALSE(b().admits(6));
  EXPECT_FALSE(make("late")->admits(6));
  EXPECT_DOUBLE_EQ(b().spent(), 3);
}

TEST_F(SharedCountsTest, counts_survive_a_restart_that_closes_an_idle_connection_only) {
  EXPECT_TRUE(a().admits(6));
  settle();
  ASSERT_TRUE(client_->run({"SAVE"}, seconds(5)));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(a().admits(6));
  settle();
  // The buckets go back in one step with the end of all connections, so no exchange fails.
  constexpr std::string_view kGoBack =
      "for _, key in ipairs(redis.call('KEYS', '*buckets:*')) do "
      "redis.call('HSET', key, 'requests', '1') end";
  const std::vector<stores::Redis::Command> commands{
      {"MULTI"},
      {"EVAL", kGoBack, "0"},
      {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"},
      {"EXEC"}};
  const auto done = client_->run_all(commands, seconds(5));
  ASSERT_TRUE(done) << done.error().message;
  settle();
  EXPECT_FALSE(a().admits(6));
  EXPECT_FALSE(b().admits(6));
}

TEST_F(SharedCountsTest, counts_survive_a_server_whose_clock_is_behind_the_last_ones) {
  a().spend(1);
  EXPECT_TRUE(a().admits(6));
  settle();
  // Later changes of a server whose clock was ahead; the next server has none of them.
  const auto later = std::to_string(
      std::chrono::duration_cast<std::chrono::microseconds>(
          (std::chrono::system_clock::now() + std::chrono::hours(1)).time_since_epoch())
          .count());
  ASSERT_TRUE(client_->run({"SAVE"}, seconds(5)));
  for (const char* kind : {"totals", "buckets"}) {
    const std::string name = fmt::format("{}{}", kPrefix, kind);
    const auto all = client_->run({"ZRANGE", name, "0", "-1"}, milliseconds(500));
    ASSERT_TRUE(all && all->items.size() == 1);
    ASSERT_TRUE(client_->run({"ZADD", name, later, all->items[0].text}, milliseconds(500)));
  }
  settle();  // the cursors are an hour ahead
  redis_.server().end();
  wait_until_works(false);
  redis_.start();
  wait_until_works(true);
  settle();
  a().spend(2);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(a().admits(6));
  settle();
  EXPECT_DOUBLE_EQ(b().spent(), 3);
  EXPECT_FALSE(b().admits(6));
}

TEST_F(SharedCountsTest, a_new_budget_includes_earlier_reports) {
  for (const auto& site : sites_) site->budget_of("nobody");
  a().budget_of("");
  a().spend(1);
  settle();
  EXPECT_DOUBLE_EQ(b().spent(), 0);
  b().budget_of("");
  settle();
  EXPECT_DOUBLE_EQ(b().spent(), 1);
}

TEST_F(SharedCountsTest, counts_of_a_time_without_the_server_arrive_once) {
  a().spend(1);
  settle();
  redis_.server().end();
  a().spend(2);
  b().spend(4);
  EXPECT_TRUE(a().admits(6));
  EXPECT_TRUE(b().admits(6));
  wait_until_works(false);
  EXPECT_DOUBLE_EQ(a().spent(), 3);
  EXPECT_DOUBLE_EQ(b().spent(), 5);
  redis_.start();
  wait_until_works(true);
  settle();
  EXPECT_DOUBLE_EQ(a().spent(), 7);
  EXPECT_DOUBLE_EQ(b().spent(), 7);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(a().admits(6)) << i;
  EXPECT_FALSE(a().admits(6));
}

TEST_F(SharedCountsTest, counts_of_a_time_with_a_stopped_server_arrive_once) {
  redis_.server().signal(SIGSTOP);
  a().spend(2);
  b().spend(4);
  EXPECT_TRUE(a().admits(6));
  wait_until_works(false);
  wait_for([&] { return a().stats().failed >= 3; });  // each may arrive later
  redis_.server().signal(SIGCONT);
  wait_until_works(true);
  settle();
  EXPECT_DOUBLE_EQ(a().spent(), 6);
  EXPECT_DOUBLE_EQ(b().spent(), 6);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(b().admits(6)) << i;
  EXPECT_FALSE(b().admits(6));
}

TEST_F(SharedCountsTest, counts_of_a_time_with_a_full_server_arrive_once) {
  ASSERT_TRUE(client_->run({"CONFIG", "SET", "maxmemory", "1"}, milliseconds(500)));
  a().spend(2);
  EXPECT_TRUE(b().admits(6));
  wait_until_works(false);
  ASSERT_TRUE(client_->run({"CONFIG", "SET", "maxmemory", "0"}, milliseconds(500)));
  wait_until_works(true);
  settle();
  EXPECT_DOUBLE_EQ(b().spent(), 2);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(a().admits(6)) << i;
  EXPECT_FALSE(a().admits(6));
}

TEST_F(SharedCountsTest, a_router_that_restarts_is_not_counted_twice) {
  a().spend(1);
  settle();
  sites_[0].reset();  // writes its file
  sites_[0] = make("s0");
  a().spend(2);
  settle();
  EXPECT_DOUBLE_EQ(a().spent(), 3);
  EXPECT_DOUBLE_EQ(b().spent(), 3);
}

TEST_F(SharedCountsTest, the_end_of_a_router_reports_the_remaining_counts) {
  a().spend(1);
  EXPECT_TRUE(a().admits(6));
  a().stop();
  b().settle();
  EXPECT_DOUBLE_EQ(b().spent(), 1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(b().admits(6)) << i;
  EXPECT_FALSE(b().admits(6));
  a().start();
}

TEST_F(SharedCountsTest, routers_with_copies_of_one_file_are_counted_separately) {
  sites_[1].reset();
  sites_[0].reset();
  for (const char* name : {"t0.db", "t1.db"})
    std::filesystem::copy_file(folder_.path() / "s0.db", folder_.path() / name);
  ASSERT_TRUE(client_->run({"DEL", fmt::format("{}routers", kPrefix)}, milliseconds(500)));
  sites_[0] = make("t0");
  sites_[1] = make("t1");
  a().spend(1);
  wait_for([&] { return ledgers() == 2; });
  b().spend(0.5);
  settle();
  EXPECT_DOUBLE_EQ(a().spent(), 1.5);
  EXPECT_DOUBLE_EQ(b().spent(), 1.5);
}

TEST_F(SharedCountsTest, a_restart_that_overlaps_counts_the_spending_once) {
  a().spend(10);
  settle();
  sites_.push_back(make("s0"));
  wait_for([&] { return ledgers() == 3; });
  a().spend(1);
  sites_[2]->spend(2);
  settle();
  for (const auto& site : sites_) EXPECT_DOUBLE_EQ(site->spent(), 13);
  sites_[0].reset();  // the older one has finished its requests
  sites_.erase(sites_.begin());
  sites_[1]->spend(4);
  settle();
  for (const auto& site : sites_) EXPECT_DOUBLE_EQ(site->spent(), 17);
}

TEST_F(SharedCountsTest, a_connection_to_a_server_that_was_demoted_is_not_kept) {
  ASSERT_TRUE(client_->run({"REPLICAOF", "127.0.0.1", "1"}, milliseconds(500)));
  a().spend(1);
  wait_until_works(false);
  for (const stores::Redis::Command& write :
       {stores::Redis::Command{"SET", "x", "y"},
        stores::Redis::Command{"EVAL", "return redis.call('SET', 'x', 'y')", "0"}}) {
    ASSERT_TRUE(client_->run({"PING"}, milliseconds(500)));
    const uint64_t before = client_->connections();
    const auto refused = client_->run(write, milliseconds(500));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("READONLY"), std::string::npos);
    ASSERT_TRUE(client_->run({"PING"}, milliseconds(500)));
    EXPECT_EQ(client_->connections(), before + 1);
  }
  ASSERT_TRUE(client_->run({"REPLICAOF", "NO", "ONE"}, milliseconds(500)));
  wait_until_works(true);
  settle();
  EXPECT_DOUBLE_EQ(b().spent(), 1);
}

TEST_F(SharedCountsTest, errors_repeat_no_arguments) {
  const auto refused = client_->run({"UNKNOWN", "a password"}, milliseconds(500));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("unknown command"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("password"), std::string::npos) << refused.error().message;
}

TEST_F(SharedCountsTest, values_of_another_program_are_left_alone) {
  const std::string name = fmt::format("{}totals", kPrefix);
  ASSERT_TRUE(client_->run({"SET", name, "something else"}, milliseconds(500)));
  a().spend(1);
  wait_until_works(false);  // WRONGTYPE
  ASSERT_TRUE(client_->run({"DEL", name}, milliseconds(500)));
  wait_until_works(true);
  ASSERT_TRUE(client_->run({"ZADD", name, "1", "odd"}, milliseconds(500)));
  ASSERT_TRUE(
      client_->run({"HSET", fmt::format("{}totals:odd", kPrefix), "x", "y"}, milliseconds(500)));
  settle();
  EXPECT_DOUBLE_EQ(b().spent(), 1);
}

}  // namespace
}  // namespace signalbox::shared_counts
