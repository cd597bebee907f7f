// Tests the file of the spending, also on a full disk, and the budgets that depend on it.

#include "router/spending/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/json.h"
#include "router/spending/budgets.h"
#include "router/spending/database.h"
#include "router/spending/prices.h"
#include "router/spending/report.h"
#include "tests/router/small_disk.h"
#include "tests/router/temporary_directory.h"

namespace signalbox::spending {
namespace {

using config::Spending;
using std::chrono::system_clock;

Day today() {
  return day_of(system_clock::now());
}

Account account_of(std::string key, std::string groups = {}, Day day = today()) {
  Account out;
  out.day = day;
  out.key = std::move(key);
  out.user = "u-" + out.key;
  out.groups = std::move(groups);
  out.model = "m";
  out.currency = "USD";
  return out;
}

Spent cost_of(double cost) {
  Spent out;
  out.requests = 1;
  out.prompt = 10;
  out.cost = cost;
  out.cost_on_largest = 2 * cost;
  return out;
}

std::unique_ptr<Ledger> open(const std::filesystem::path& file) {
  auto out = Ledger::open(file);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *std::move(out) : nullptr;
}

Report report_of(const std::filesystem::path& file, GroupBy by = GroupBy::kKey) {
  auto database = Database::open(file, true);
  EXPECT_TRUE(database) << (database ? "" : database.error().message);
  auto report = sum_up(*database, by, 0, today());
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return report ? *std::move(report) : Report{};
}

TEST(Ledger, adds_up_the_spending_in_the_file) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "deep" / "spending.db";
  for (int i = 0; i < 2; ++i) {
    const auto ledger = open(file);
    ASSERT_NE(ledger, nullptr);
    EXPECT_DOUBLE_EQ(ledger->cost_of(Spending::By::kKey, "a", "USD", Spending::Per::kDay, today()),
                     3.0 * i);
    ledger->add(account_of("a"), cost_of(1));
    ledger->add(account_of("a"), cost_of(2));
    ledger->add(account_of("b"), cost_of(4));
  }
  const Report report = report_of(file);
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].name, "a");
  EXPECT_EQ(report.lines[0].spent.requests, 4U);
  EXPECT_DOUBLE_EQ(report.lines[0].spent.cost, 6);
  ASSERT_EQ(report.totals.size(), 1U);
  EXPECT_DOUBLE_EQ(report.totals[0].spent.cost, 14);
  EXPECT_DOUBLE_EQ(report.totals[0].spent.cost_on_largest, 28);
}

TEST(Ledger, counts_days_and_months_apart) {
  const test::TemporaryDirectory folder;
  const auto ledger = open(folder.path() / "s.db");
  ASSERT_NE(ledger, nullptr);
  const Day first = *parse_day("2026-01-30");
  const auto cost = [&](Spending::Per per, Day day) {
    return ledger->cost_of(Spending::By::kKey, "a", "USD", per, day);
  };
  ledger->add(account_of("a", "", first), cost_of(1));
  ledger->add(account_of("a", "", first + 1), cost_of(2));
  EXPECT_DOUBLE_EQ(cost(Spending::Per::kDay, first + 1), 2);
  EXPECT_DOUBLE_EQ(cost(Spending::Per::kMonth, first + 1), 3);
  EXPECT_DOUBLE_EQ(cost(Spending::Per::kMonth, first + 2), 0);
  ledger->add(account_of("a", "", first + 2), cost_of(4));
  EXPECT_DOUBLE_EQ(cost(Spending::Per::kMonth, first + 2), 4);
  EXPECT_EQ(next_after(Spending::Per::kMonth, *parse_day("2026-12-31")), *parse_day("2027-01-01"));
}

TEST(Ledger, keeps_sums_in_memory_while_the_disk_is_full) {
  const test::TemporaryDirectory folder;
  const auto mount = folder.path() / "disk";
  std::filesystem::create_directory(mount);
  const test::SmallDisk disk(mount, 2);
  if (!disk.missing().empty()) GTEST_SKIP() << disk.missing();
  const auto file = mount / "spending.db";
  const auto ledger = open(file);
  ASSERT_NE(ledger, nullptr);
  ledger->add(account_of("before"), cost_of(1));
  ASSERT_TRUE(ledger->flush());
  ASSERT_TRUE(disk.fill());
  for (int i = 0; i < 1000; ++i) ledger->add(account_of(fmt::format("key-{}", i)), cost_of(1));
  EXPECT_FALSE(ledger->flush());
  EXPECT_EQ(ledger->counts().unwritten_rows, 1000U);
  EXPECT_GE(ledger->counts().failed_writes, 1U);
  const std::string message = Ledger::open(mount / "second.db").error().message;
  EXPECT_TRUE(message.find("No space left") != std::string::npos ||
              message.find("disk is full") != std::string::npos)
      << message;
  disk.make_room();
  ASSERT_TRUE(ledger->flush());
  EXPECT_DOUBLE_EQ(report_of(file).totals.at(0).spent.cost, 1001);
}

TEST(Ledger, refuses_a_file_that_is_not_a_ledger) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "spending.db";
  std::ofstream(file) << "this is not a database, although its name says so; it has some length";
  EXPECT_FALSE(Ledger::open(file));
  const std::string message = Ledger::open(file / "spending.db").error().message;
  EXPECT_NE(message.find("(Not a directory)"), std::string::npos) << message;
  EXPECT_EQ(Database::open(folder.path() / "none.db", true).error().code, Code::kNotFound);
}

TEST(Ledger, reports_a_folder_in_which_it_may_make_no_file) {
  namespace fs = std::filesystem;
  const test::TemporaryDirectory folder;
  fs::permissions(folder.path(), fs::perms{0555});
  const uid_t user = ::geteuid();
  ASSERT_EQ(::seteuid(user == 0 ? 65534 : user), 0);  // root may write everywhere
  const std::string message = Ledger::open(folder.path() / "spending.db").error().message;
  ASSERT_EQ(::seteuid(user), 0);
  fs::permissions(folder.path(), fs::perms::owner_all);
  EXPECT_NE(message.find("(Permission denied)"), std::string::npos) << message;
}

TEST(Ledger, counts_a_group_once_that_a_header_lists_twice) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "s.db";
  {
    const auto ledger = open(file);
    ASSERT_NE(ledger, nullptr);
    ledger->add(account_of("a", "x, y,x"), cost_of(1));
    EXPECT_DOUBLE_EQ(
        ledger->cost_of(Spending::By::kGroup, "x", "USD", Spending::Per::kDay, today()), 1);
  }
  const Report report = report_of(file, GroupBy::kGroup);
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].spent.requests, 1U);
}

TEST(Report, counts_a_request_for_each_group_and_once_in_total) {
  const test::TemporaryDirectory folder;
  const auto file = folder.path() / "s.db";
  {
    const auto ledger = open(file);
    ASSERT_NE(ledger, nullptr);
    ledger->add(account_of("a", "x, y"), cost_of(1));
    ledger->add(account_of("b"), cost_of(2));
  }
  const Report report = report_of(file, GroupBy::kGroup);
  ASSERT_EQ(report.lines.size(), 3U);
  EXPECT_EQ(report.lines[0].name, "");
  EXPECT_EQ(report.lines[1].name, "x");
  EXPECT_EQ(report.lines[2].name, "y");
  EXPECT_DOUBLE_EQ(report.totals.at(0).spent.cost, 3);
}

TEST(Budgets, the_strongest_action_counts) {
  const test::TemporaryDirectory folder;
  const auto ledger = open(folder.path() / "s.db");
  ASSERT_NE(ledger, nullptr);
  ledger->add(account_of("a", "g"), cost_of(9));
  const auto budget = [](std::string name, Spending::By by, double amount, Spending::Then then,
                         std::string of = {}) {
    Budget out;
    out.name = std::move(name);
    out.by = by;
    out.of = std::move(of);
    out.amount = amount;
    out.then = then;
    return out;
  };
  const auto action = [&](const std::vector<Budget>& budgets) -> std::optional<Finding::Action> {
    const auto found = judge(budgets, *ledger, {"a", "u-a", "g"}, system_clock::now());
    if (found) {
      EXPECT_GT(found->renewal.count(), 0);
    }
    return found ? std::optional(found->action) : std::nullopt;
  };
  using By = Spending::By;
  using Then = Spending::Then;
  EXPECT_EQ(action({budget("far", By::kKey, 100, Then::kRefuse)}), std::nullopt);
  EXPECT_EQ(action({budget("near", By::kKey, 10, Then::kRefuse)}), Finding::Action::kWarn);
  EXPECT_EQ(action({budget("other", By::kKey, 1, Then::kRefuse, "b")}), std::nullopt);
  EXPECT_EQ(action({budget("spent", By::kUser, 9, Then::kCheaper)}), Finding::Action::kCheaper);
  EXPECT_EQ(action({budget("warns", By::kGroup, 1, Then::kWarn, "g"),
                    budget("refuses", By::kGroup, 9, Then::kRefuse),
                    budget("cheaper", By::kKey, 1, Then::kCheaper)}),
            Finding::Action::kRefuse);
}

TEST(Budgets, list_the_remaining_budget_of_each_spender) {
  const test::TemporaryDirectory folder;
  const auto ledger = open(folder.path() / "spending.db");
  ASSERT_TRUE(ledger);
  for (int i = 0; i < 102; ++i)
    ledger->add(account_of(fmt::format("key-{:03}", i), "g"), cost_of(1 + i));
  Budget each_key;
  each_key.name = "each";
  each_key.amount = 100;
  Budget of_nobody = each_key;
  of_nobody.name = "new";
  of_nobody.by = Spending::By::kGroup;
  of_nobody.of = "newcomers";
  of_nobody.per = Spending::Per::kDay;
  const std::chrono::system_clock::time_point now = system_clock::now();
  const auto document = json::Document::parse(budgets_json({each_key, of_nobody}, *ledger, now));
  ASSERT_TRUE(document) << document.error().message;
  const json::Value first = *document->root().find("budgets")->items().begin();
  EXPECT_EQ(*first.find("further")->integer(), 2);
  const json::Value most = *first.find("spenders")->items().begin();
  EXPECT_EQ(most.raw(), R"({"name":"key-101","spent":102,"state":"exceeded"})");
  size_t count = 0, warned = 0;
  for (const json::Value& spender : first.find("spenders")->items()) {
    ++count;
    warned += spender.find("state")->text() == "warned";
  }
  EXPECT_EQ(count, 100U);
  EXPECT_EQ(warned, 20U) << "from 80 to 99";
  const auto text = budgets_json({of_nobody}, *ledger, now);
  EXPECT_NE(text.find(R"("of":"newcomers","amount":100,"currency":"USD","per":"day",)"
                      R"("then":"refuse","warn_at":0.8,)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("spenders":[{"name":"newcomers","spent":0,"state":"fine"}])"),
            std::string::npos)
      << text;
}

TEST(Prices, the_built_in_list_is_read_and_finds_dated_versions) {
  const auto list = parse_prices(built_in_prices());
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_GT(list->models.size(), 100U);
  EXPECT_TRUE(parse_day(list->date));
  ASSERT_NE(list->find("gpt-4o"), nullptr);
  EXPECT_EQ(list->find("gpt-4o-2024-08-06"), list->find("gpt-4o"));
  EXPECT_EQ(list->find("claude-haiku-4-5-20251001"), list->find("claude-haiku-4-5"));
  EXPECT_EQ(list->find("gpt-4o-of-our-own"), nullptr);
  EXPECT_FALSE(parse_prices("date: 2026-01-01\nsource: s\nmodels: [{name: m}]"));
}

// --- totals that several routers share ---

class SharedLedger : public testing::Test {
 protected:
  void open_again() {
    ledger_.reset();
    ledger_ = open(folder_.path() / "s.db");
    ASSERT_NE(ledger_, nullptr);
    ledger_->share(budgets_);
  }
  void SetUp() override {
    Budget each;
    each.per = Spending::Per::kDay;
    budgets_.push_back(each);
    each.by = Spending::By::kGroup;
    each.of = "ops";
    each.per = Spending::Per::kMonth;
    budgets_.push_back(each);
    open_again();
  }
  double cost(std::string_view key) const {
    return ledger_->cost_of(Spending::By::kKey, key, "USD", Spending::Per::kDay, today());
  }
  static TotalKey day_of_key(std::string name) {
    return {Spending::By::kKey, Spending::Per::kDay, today(), std::move(name), "USD"};
  }

  const test::TemporaryDirectory folder_;
  std::vector<Budget> budgets_;
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(SharedLedger, reports_the_totals_that_a_budget_compares) {
  ledger_->add(account_of("a", "dev,ops"), cost_of(1));
  ledger_->add(account_of("a", "dev,ops"), cost_of(2));
  EXPECT_EQ(ledger_->unreported(), 2U);
  const auto totals = ledger_->take_changes(100);
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals[0].key, day_of_key("a"));
  EXPECT_EQ(totals[1].key, (TotalKey{Spending::By::kGroup, Spending::Per::kMonth,
                                     begin_of(Spending::Per::kMonth, today()), "ops", "USD"}));
  for (const SharedTotal& each : totals) EXPECT_DOUBLE_EQ(each.own, 3);
  EXPECT_TRUE(ledger_->take_changes(100).empty());
  ledger_->report_all();
  EXPECT_EQ(ledger_->take_changes(100).size(), 2U);
}

TEST_F(SharedLedger, reports_a_total_again_after_it_is_put_back) {
  ledger_->add(account_of("a", "dev,ops"), cost_of(1));
  const auto totals = ledger_->take_changes(1);
  ASSERT_EQ(totals.size(), 1U);
  ledger_->add(account_of("a"), cost_of(2));
  ledger_->put_back(totals);
  ledger_->put_back(totals);
  EXPECT_EQ(ledger_->unreported(), 2U);
  const auto again = ledger_->take_changes(100);
  ASSERT_EQ(again.size(), 2U);
  const auto same = std::ranges::find(again, totals[0].key, &SharedTotal::key);
  ASSERT_NE(same, again.end());
  EXPECT_DOUBLE_EQ(same->own, 3);
}

TEST_F(SharedLedger, counts_the_spending_of_other_routers) {
  ledger_->add(account_of("a"), cost_of(1));
  ledger_->set_others(std::vector<SharedTotal>{{day_of_key("a"), 0, 10}, {day_of_key("b"), 0, 20}},
                      false);
  EXPECT_DOUBLE_EQ(cost("a"), 11);
  EXPECT_DOUBLE_EQ(cost("b"), 20);
  ledger_->set_others(std::vector<SharedTotal>{{day_of_key("a"), 0, 5}},
                      false);  // from a server that lost the rest
  EXPECT_DOUBLE_EQ(cost("a"), 11);
  TotalKey future = day_of_key("a");  // of a router whose clock is wrong
  future.begin += 2;
  ledger_->set_others(std::vector<SharedTotal>{{future, 0, 100}}, false);
  EXPECT_DOUBLE_EQ(cost("a"), 11);
  TotalKey yesterday = day_of_key("a");
  --yesterday.begin;
  ledger_->set_others(std::vector<SharedTotal>{{yesterday, 0, 100}}, false);
  EXPECT_DOUBLE_EQ(cost("a"), 11);
  ASSERT_TRUE(ledger_->flush());
  EXPECT_DOUBLE_EQ(report_of(folder_.path() / "s.db").totals.at(0).spent.cost, 1);
}

TEST_F(SharedLedger, counts_the_spending_of_today_while_another_router_has_the_next_day_already) {
  ledger_->add(account_of("a"), cost_of(1));
  TotalKey tomorrow = day_of_key("a");
  ++tomorrow.begin;
  const auto report = [&](const TotalKey& key, double others) {
    ledger_->set_others(std::vector<SharedTotal>{{key, 0, others}}, false);
  };
  report(day_of_key("a"), 2);
  report(tomorrow, 10);
  EXPECT_DOUBLE_EQ(cost("a"), 3);
  EXPECT_DOUBLE_EQ(
      ledger_->cost_of(Spending::By::kKey, "a", "USD", Spending::Per::kDay, today() + 1), 10);
  report(day_of_key("a"), 4);
  EXPECT_DOUBLE_EQ(cost("a"), 5);
  TotalKey yesterday = day_of_key("a");
  --yesterday.begin;
  report(yesterday, 100);
  EXPECT_DOUBLE_EQ(cost("a"), 5);
}

TEST_F(SharedLedger, adopts_reported_spending_that_a_killed_router_had_not_written) {
  ledger_->add(account_of("a"), cost_of(1));
  open_again();
  ledger_->set_others(std::vector<SharedTotal>{{day_of_key("a"), 3, 10}}, true);
  EXPECT_DOUBLE_EQ(cost("a"), 13);
  ledger_->set_others(std::vector<SharedTotal>{{day_of_key("a"), 100, 10}}, false);
  EXPECT_DOUBLE_EQ(cost("a"), 13);
  ledger_->add(account_of("a"), cost_of(1));
  EXPECT_DOUBLE_EQ(ledger_->take_changes(1).front().own, 4);
}

TEST_F(SharedLedger, can_leave_the_spending_in_its_file_to_another_router) {
  ledger_->add(account_of("a"), cost_of(5));
  open_again();
  ledger_->add(account_of("a"), cost_of(1));
  ledger_->disown_file();
  const auto totals = ledger_->take_changes(100);
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_DOUBLE_EQ(totals[0].own, 1);
}

TEST_F(SharedLedger, keeps_the_name_of_its_file) {
  EXPECT_EQ(ledger_->name_of_file("first").value_or(""), "first");
  EXPECT_EQ(ledger_->name_of_file("second").value_or(""), "first");
  open_again();
  EXPECT_EQ(ledger_->name_of_file("third").value_or(""), "first");
}

}  // namespace
}  // namespace signalbox::spending
