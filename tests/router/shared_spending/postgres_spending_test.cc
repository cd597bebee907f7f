// Tests the spending that routers share in a real PostgreSQL, which is killed, loses replies, or
// comes back with an older state.

#include "router/shared_spending/postgres_spending.h"

#include <atomic>
#include <csignal>
#include <thread>

#include "router/shared_spending/columns.h"
#include "router/shared_spending/statements.h"
#include "tests/router/shared_spending/stores.h"

namespace signalbox::shared_spending {
namespace {

using config::Spending;
using spending::Ledger;
using std::chrono::milliseconds;
using test::kWithin;
using test::wait_for;

/// A real store whose replies get lost on their way while `loses` holds.
class LossyStore final : public spending::Store {
 public:
  LossyStore(std::unique_ptr<spending::Store> store, const std::atomic<bool>& loses)
      : store_(std::move(store)), loses_(loses) {}
  const std::string& name() const override { return store_->name(); }
  bool is_common() const override { return true; }
  Result<void> add(const spending::Batch& batch) override {
    auto done = store_->add(batch);
    if (loses_) return fail(Code::kDeadline, "no answer in time");
    return done;
  }
  Result<std::unique_ptr<spending::Source>> source() override { return store_->source(); }
  Result<std::string> share_name(std::string_view fresh) override {
    return store_->share_name(fresh);
  }
  Result<spending::Changes> changes(const std::vector<spending::TotalKind>& kinds,
                                    spending::Day day, bool anew) override {
    return store_->changes(kinds, day, anew);
  }

 private:
  const std::unique_ptr<spending::Store> store_;
  const std::atomic<bool>& loses_;
};

class SharedSpending : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = PostgresPlace::missing(); !missing.empty())
      GTEST_SKIP() << missing;
    place_.start();
  }
  static std::unique_ptr<Ledger> ledger_over(std::unique_ptr<spending::Store> store) {
    Spending::Budget each_key;
    each_key.per = Spending::Per::kDay;
    auto out = Ledger::open(std::move(store), {each_key});
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? *std::move(out) : nullptr;
  }
  std::unique_ptr<Ledger> router() const { return ledger_over(place_.connect()); }
  static double cost(const Ledger& ledger, std::string_view key) {
    return ledger.cost_of(Spending::By::kKey, key, "USD", Spending::Per::kDay, today());
  }
  static void wait_for_cost(const Ledger& ledger, std::string_view key, double amount) {
    wait_for([&] { return cost(ledger, key) >= amount - 1e-9; });
    EXPECT_NEAR(cost(ledger, key), amount, 1e-9);
  }
  double stored() { return total_cost(*place_.connect()); }

  PostgresPlace place_;
};

TEST_F(SharedSpending, each_router_learns_what_the_other_has_spent) {
  const auto a = router(), b = router();
  a->add(account_of("x"), spent_of(1));
  b->add(account_of("x"), spent_of(2));
  b->add(account_of("y"), spent_of(4));
  wait_for_cost(*a, "x", 3);
  wait_for_cost(*b, "x", 3);
  wait_for_cost(*a, "y", 4);
  const auto late = router();
  EXPECT_DOUBLE_EQ(cost(*late, "x"), 3) << "a router knows it before it serves";
  EXPECT_DOUBLE_EQ(stored(), 7);
}

TEST_F(SharedSpending, a_batch_whose_reply_was_lost_counts_once) {
  std::atomic<bool> loses = false;
  const auto ledger = ledger_over(std::make_unique<LossyStore>(place_.connect(), loses));
  loses = true;
  ledger->add(account_of("x"), spent_of(1));
  EXPECT_FALSE(ledger->flush());
  ledger->add(account_of("x"), spent_of(2));
  EXPECT_FALSE(ledger->flush());
  EXPECT_EQ(ledger->counts().unwritten_rows, 2U);
  EXPECT_DOUBLE_EQ(cost(*ledger, "x"), 3);
  loses = false;
  ASSERT_TRUE(ledger->flush());
  EXPECT_DOUBLE_EQ(stored(), 3);
  const auto other = router();
  EXPECT_DOUBLE_EQ(cost(*other, "x"), 3);
  other->add(account_of("x"), spent_of(4));
  wait_for_cost(*ledger, "x", 7);
}

TEST_F(SharedSpending, copies_of_a_batch_that_arrive_together_count_once) {
  ASSERT_TRUE(place_.connect()->add(batch_of(1, account_of("x"), 1)));  // makes the tables
  const std::string statement = add_statement(kTable);
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto client = *stores::make_postgres(place_.options().server, tables(kTable));
      for (uint64_t number = 1; number <= 20; ++number) {
        const std::string text = text_of(batch_of(number, account_of("x"), 1));
        if (!client->run(statement, {"one", std::to_string(number), "token", text}, kWithin))
          ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_DOUBLE_EQ(stored(), 21);
}

TEST_F(SharedSpending, routers_that_write_at_the_same_time_lose_nothing) {
  constexpr int kRouters = 6, kBatches = 30, kKeys = 40;
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int i = 0; i < kRouters; ++i) {
    threads.emplace_back([&, i] {
      const auto store = place_.connect();
      for (int number = 1; number <= kBatches; ++number) {
        spending::Sums sums;
        for (int key = 0; key < kKeys; ++key)
          sums.requests[account_of(fmt::format("k{}", (key * (i + 1)) % kKeys))] += spent_of(1);
        const auto batch = spending::make_batch(std::move(sums), static_cast<uint64_t>(number));
        if (const auto added = store->add(batch); !added) {
          ++refused;
          ADD_FAILURE() << added.error().message;
        }
      }
    });
  }
  // Meanwhile, a reader sees each change.
  const auto reader = router();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_DOUBLE_EQ(stored(), kRouters * kBatches * kKeys);
  double known = 0;
  wait_for([&] {
    known = 0;
    for (int key = 0; key < kKeys; ++key) known += cost(*reader, fmt::format("k{}", key));
    return known >= kRouters * kBatches * kKeys;
  });
  EXPECT_DOUBLE_EQ(known, kRouters * kBatches * kKeys);
}

TEST_F(SharedSpending, counting_goes_on_while_the_server_is_away_and_is_added_afterwards) {
  PostgresOptions options = place_.options();
  options.server.connect_limit = milliseconds(500);
  const auto a = ledger_over(PostgresPlace::connect(options)),
             b = ledger_over(PostgresPlace::connect(options));
  a->add(account_of("x"), spent_of(1));
  wait_for_cost(*b, "x", 1);
  place_.end();
  for (int i = 0; i < 100; ++i) {
    a->add(account_of("x"), spent_of(1));
    b->add(account_of("x"), spent_of(1));
  }
  EXPECT_DOUBLE_EQ(cost(*a, "x"), 101);
  EXPECT_DOUBLE_EQ(cost(*b, "x"), 101);
  wait_for([&] { return a->counts().failed_writes > 0 && b->counts().failed_writes > 0; });
  EXPECT_LE(a->counts().unwritten_rows, 2U) << "requests of one account share a row";
  place_.start_again();
  wait_for_cost(*a, "x", 201);
  wait_for_cost(*b, "x", 201);
  EXPECT_DOUBLE_EQ(stored(), 201);
}

TEST_F(SharedSpending, a_router_that_starts_without_the_server_learns_the_totals_later) {
  ASSERT_TRUE(place_.connect()->add(batch_of(1, account_of("x"), 1)));
  place_.end();
  PostgresOptions options = place_.options();
  options.server.connect_limit = milliseconds(500);
  const auto ledger = ledger_over(PostgresPlace::connect(options));
  ASSERT_NE(ledger, nullptr);
  ledger->add(account_of("x"), spent_of(2));
  EXPECT_DOUBLE_EQ(cost(*ledger, "x"), 2);
  place_.start_again();
  wait_for_cost(*ledger, "x", 3);
}

TEST_F(SharedSpending, a_server_that_is_killed_under_load_counts_each_request_once) {
  PostgresOptions options = place_.options();
  options.server.connect_limit = milliseconds(500);
  const auto a = ledger_over(PostgresPlace::connect(options)),
             b = ledger_over(PostgresPlace::connect(options));
  std::atomic<bool> runs = true;
  std::atomic<int> requests = 0;
  std::vector<std::thread> load;
  for (Ledger* ledger : {a.get(), b.get()}) {
    load.emplace_back([&, ledger] {
      while (runs) {
        ledger->add(account_of(fmt::format("k{}", requests++ % 7)), spent_of(1));
        if (requests % 16 == 0) static_cast<void>(ledger->flush());
      }
    });
  }
  for (int i = 0; i < 3; ++i) {
    const int before = requests;
    wait_for([&] { return requests > before + 500; });
    place_.end();
    place_.start_again();
  }
  runs = false;
  for (std::thread& thread : load) thread.join();
  wait_for([&] { return a->flush() && b->flush(); });
  EXPECT_DOUBLE_EQ(stored(), requests);
}

TEST_F(SharedSpending, a_server_that_hangs_keeps_no_request_waiting) {
  PostgresOptions options = place_.options();
  options.write_limit = options.read_limit = milliseconds(100);
  const auto ledger = ledger_over(PostgresPlace::connect(options));
  ledger->add(account_of("x"), spent_of(1));
  ASSERT_TRUE(ledger->flush());
  place_.server().signal(SIGSTOP);
  ledger->add(account_of("x"), spent_of(1));
  const auto flushed = ledger->flush();
  EXPECT_DOUBLE_EQ(cost(*ledger, "x"), 2);
  place_.server().signal(SIGCONT);
  ASSERT_FALSE(flushed);
  EXPECT_NE(flushed.error().message.find("no answer in time"), std::string::npos)
      << flushed.error().message;
  wait_for([&] { return ledger->flush().has_value(); });
  EXPECT_DOUBLE_EQ(stored(), 2);
}

TEST_F(SharedSpending, running_routers_do_not_forget_what_a_restored_server_has_lost) {
  const auto a = router(), b = router();
  a->add(account_of("x"), spent_of(1));
  wait_for_cost(*b, "x", 1);
  place_.ask(fmt::format("DELETE FROM {}_totals", kTable));
  place_.ask(fmt::format("UPDATE {}_state SET counter = 0, epoch = 'other'", kTable));
  a->add(account_of("y"), spent_of(2));
  wait_for_cost(*b, "y", 2);
  EXPECT_DOUBLE_EQ(cost(*b, "x"), 1);
}

TEST_F(SharedSpending, a_router_counts_what_others_add_to_a_server_with_an_older_state) {
  const auto a = router(), b = router();
  a->add(account_of("x"), spent_of(10));
  b->add(account_of("x"), spent_of(5));
  for (const Ledger* each : {a.get(), b.get()}) wait_for_cost(*each, "x", 15);
  place_.ask(fmt::format("UPDATE {}_totals SET amount = 4", kTable));
  place_.ask(fmt::format("UPDATE {}_state SET counter = 0", kTable));
  // Once each knows two changes of the other, it has read the older state.
  for (const char* key : {"y", "z"}) {
    a->add(account_of(key), spent_of(1));
    wait_for_cost(*b, key, 1);
    b->add(account_of(key), spent_of(2));
    wait_for_cost(*a, key, 3);
  }
  a->add(account_of("x"), spent_of(1));
  wait_for_cost(*b, "x", 16);
  b->add(account_of("x"), spent_of(2));
  wait_for_cost(*a, "x", 18);
}

TEST_F(SharedSpending, a_server_that_starts_again_is_read_from_the_beginning) {
  const auto a = router();
  a->add(account_of("x"), spent_of(1));
  ASSERT_TRUE(a->flush());
  const auto store = place_.connect();
  const auto totals = [&] {
    const auto read = store->changes({{}}, today(), false);
    EXPECT_TRUE(read) << read.error().message;
    return read->totals.size();
  };
  EXPECT_EQ(totals(), 1U);
  EXPECT_EQ(totals(), 0U);
  place_.end();
  place_.start_again();
  totals();  // it notices
  EXPECT_EQ(totals(), 1U) << "the numbers of lost batches may have been given again";
}

TEST_F(SharedSpending, two_processes_with_one_name_lose_nothing) {
  const auto store = place_.connect();
  ASSERT_TRUE(store->add(batch_of(1, account_of("x"), 1)));
  for (const char* other : {"batch = 2, token = 'other'", "batch = 7"}) {
    place_.ask(fmt::format("UPDATE {}_routers SET {}", kTable, other));
    const uint64_t number = std::string_view(other).ends_with("7") ? 3 : 2;
    for (int copies = 0; copies < 2; ++copies)
      ASSERT_TRUE(store->add(batch_of(number, account_of("x"), 1)));
  }
  EXPECT_DOUBLE_EQ(stored(), 3);
}

TEST_F(SharedSpending, totals_that_no_router_wrote_do_not_hide_the_others) {
  ASSERT_TRUE(place_.connect()->add(batch_of(1, account_of("x"), 1)));
  ASSERT_TRUE(place_.connect()->add(batch_of(1, account_of("y"), 1)));
  for (const char* wrong : {"amount = 'NaN'", "amount = -1", "name = repeat('x', 200000)"}) {
    place_.ask(fmt::format("UPDATE {}_totals SET {} WHERE name = 'y'", kTable, wrong));
    const auto ledger = router();
    EXPECT_DOUBLE_EQ(cost(*ledger, "x"), 1);
    EXPECT_DOUBLE_EQ(cost(*ledger, "y"), 0);
  }
}

TEST_F(SharedSpending, reads_more_totals_than_one_page_has) {
  const auto a = router();
  for (size_t i = 0; i < kPageRows + 100; ++i)
    a->add(account_of(fmt::format("k{}", i)), spent_of(1));
  ASSERT_TRUE(a->flush());
  const auto b = router();
  EXPECT_EQ(b->costs(Spending::By::kKey, "USD", Spending::Per::kDay, today()).size(),
            kPageRows + 100);
}

TEST_F(SharedSpending, a_budget_that_is_added_later_counts_what_was_spent_before) {
  const auto a = router(), b = router();
  a->add(account_of("x"), spent_of(3));
  ASSERT_TRUE(a->flush());
  Spending::Budget by_group;
  by_group.by = Spending::By::kGroup;
  b->compare({by_group});
  wait_for([&] {
    return b->cost_of(Spending::By::kGroup, "g", "USD", Spending::Per::kMonth, today()) == 3;
  });
}

TEST_F(SharedSpending, tables_of_another_version_are_refused_and_left_alone) {
  ASSERT_TRUE(place_.connect()->add(batch_of(1, account_of("x"), 1)));
  place_.ask(fmt::format("UPDATE {}_state SET version = 7", kTable));
  const auto opened = Ledger::open(place_.connect(), {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kCorrupt);
  EXPECT_NE(opened.error().message.find("table signalbox_spending: expected version 1 of its form, "
                                        "found 7"),
            std::string::npos)
      << opened.error().message;
  const auto added = place_.connect()->add(batch_of(1, account_of("x"), 1));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kCorrupt);
  EXPECT_FALSE(place_.connect()->source());
  EXPECT_EQ(place_.text("SELECT sum(cost)::text FROM signalbox_spending"), "1");
}

TEST_F(SharedSpending, a_row_that_no_router_wrote_is_reported) {
  ASSERT_TRUE(place_.connect()->add(batch_of(1, account_of("x"), 1)));
  for (const char* wrong :
       {"user_name = '\\9'", "user_name = repeat('x', 200000)", "user_name = '', cost = 'NaN'"}) {
    place_.ask(fmt::format("UPDATE signalbox_spending SET {}", wrong));
    const auto source = place_.connect()->source();
    ASSERT_TRUE(source) << source.error().message;
    const auto report = spending::sum_up(**source, spending::GroupBy::kKey, 0, today());
    ASSERT_FALSE(report) << wrong;
    EXPECT_EQ(report.error().code, Code::kCorrupt);
  }
}

TEST_F(SharedSpending, totals_of_former_months_and_routers_that_left_are_forgotten) {
  const auto store = place_.connect();
  ASSERT_TRUE(store->add(batch_of(1, account_of("x"), 1)));
  ASSERT_TRUE(store->add(batch_of(2, account_of("x", today() - 100), 1)));
  place_.ask(
      "INSERT INTO signalbox_spending_routers VALUES ('gone', 7, 't', now() - interval '1 year')");
  EXPECT_EQ(place_.text("SELECT count(*)::text FROM signalbox_spending_totals"), "16");
  ASSERT_TRUE(store->changes({{}}, today(), true));
  EXPECT_EQ(place_.text("SELECT count(*)::text FROM signalbox_spending_totals"), "8");
  EXPECT_EQ(place_.text("SELECT count(*)::text FROM signalbox_spending_routers"), "1");
  ASSERT_TRUE(place_.connect()->changes({{}}, today() + 100, true));
  EXPECT_EQ(place_.text("SELECT count(*)::text FROM signalbox_spending_totals"), "8")
      << "this router's clock is wrong";
  EXPECT_DOUBLE_EQ(stored(), 2) << "the sums stay";
}

}  // namespace
}  // namespace signalbox::shared_spending
