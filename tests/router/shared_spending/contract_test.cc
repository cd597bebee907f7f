// Every store adds up batches and returns them as they were; and a ledger that is opened again
// knows what it had counted.

#include <algorithm>
#include <string>
#include <vector>

#include "tests/router/shared_spending/stores.h"

namespace signalbox::shared_spending {
namespace {

using config::Spending;
using spending::Ledger;

template <typename Place>
class StoreContract : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = Place::missing(); !missing.empty()) GTEST_SKIP() << missing;
    place_.start();
    store_ = place_.connect();
    ASSERT_NE(store_, nullptr);
  }
  void add(const spending::Batch& batch) {
    const auto added = store_->add(batch);
    ASSERT_TRUE(added) << added.error().message;
  }
  std::unique_ptr<Ledger> open_ledger() {
    Spending::Budget each_key, each_group;
    each_key.per = Spending::Per::kDay;
    each_group.by = Spending::By::kGroup;
    auto out = Ledger::open(place_.connect(), {each_key, each_group});
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? *std::move(out) : nullptr;
  }

  Place place_;
  std::unique_ptr<spending::Store> store_;
};

using Places = testing::Types<FilePlace, PostgresPlace>;
TYPED_TEST_SUITE(StoreContract, Places);

TYPED_TEST(StoreContract, adds_up_the_requests_of_each_account) {
  this->add(batch_of(1, account_of("a"), 1));
  this->add(batch_of(2, account_of("a"), 2));
  this->add(batch_of(3, account_of("b"), 4));
  const spending::Report report = report_of(*this->store_);
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].name, "a");
  EXPECT_EQ(report.lines[0].currency, "USD");
  EXPECT_EQ(report.lines[0].spent.requests, 2U);
  EXPECT_EQ(report.lines[0].spent.prompt, 20U);
  EXPECT_DOUBLE_EQ(report.lines[0].spent.cost, 3);
  EXPECT_DOUBLE_EQ(report.totals.at(0).spent.cost_on_largest, 14);
}

TYPED_TEST(StoreContract, adds_up_all_figures_of_shadows) {
  spending::ShadowAccount of;
  of.day = today();
  of.decision = "d";
  of.model = "m";
  of.shadow = "s";
  of.currency = "USD";
  of.shadow_currency = "EUR";
  const spending::ShadowSpent spent{.failed = 1,
                                    .pairs = 2,
                                    .compared = 3,
                                    .agreed = 4,
                                    .contradicted = 5,
                                    .measured = 6,
                                    .similarity = -0.25,
                                    .tokens = 7,
                                    .shadow_tokens = 8,
                                    .cost = 0.5,
                                    .shadow_cost = 0.125,
                                    .seconds = 9,
                                    .shadow_seconds = 10,
                                    .failed_cost = 11};
  for (uint64_t number = 1; number <= 2; ++number) {
    spending::Sums sums;
    sums.shadows[of] = spent;
    this->add(spending::make_batch(std::move(sums), number));
  }
  const spending::Report report = report_of(*this->store_);
  ASSERT_EQ(report.shadows.size(), 1U);
  const auto& [account, sum] = report.shadows[0];
  EXPECT_EQ(account.shadow_currency, "EUR");
  EXPECT_EQ(sum.failed, 2U);
  EXPECT_EQ(sum.shadow_tokens, 16U);
  EXPECT_DOUBLE_EQ(sum.similarity, -0.5);
  EXPECT_DOUBLE_EQ(sum.shadow_cost, 0.25);
  EXPECT_DOUBLE_EQ(sum.failed_cost, 22);
}

TYPED_TEST(StoreContract, returns_names_of_any_bytes_and_of_any_length) {
  std::vector<std::string> names{
      std::string("zero\0byte", 9), "back\\slash\\101",      "\xff\xfe", "Zoë 東京",
      "quote\"'{}\n\t\x01",         std::string(20'000, 'x')};
  uint64_t number = 0;
  for (const std::string& name : names) this->add(batch_of(++number, account_of(name), 1));
  std::vector<std::string> found;
  for (const auto& line : report_of(*this->store_).lines) found.push_back(line.name);
  std::ranges::sort(names);
  EXPECT_EQ(found, names);
}

TYPED_TEST(StoreContract, returns_the_days_that_are_requested) {
  for (int i = 0; i < 4; ++i)
    this->add(batch_of(static_cast<uint64_t>(i) + 1, account_of("a", 20'000 + i), 1 << i));
  const auto source = this->store_->source();
  ASSERT_TRUE(source) << source.error().message;
  std::vector<double> costs;
  const auto visited = (*source)->each(
      20'001, 20'002,
      [&](const spending::Account&, const spending::Spent& spent) { costs.push_back(spent.cost); });
  ASSERT_TRUE(visited) << visited.error().message;
  EXPECT_EQ(costs, (std::vector<double>{2, 4}));
}

TYPED_TEST(StoreContract, a_ledger_that_is_opened_again_knows_its_totals) {
  auto ledger = this->open_ledger();
  ASSERT_NE(ledger, nullptr);
  for (int i = 0; i < 3; ++i) ledger->add(account_of("a"), spent_of(0.1));
  ledger.reset();
  ledger = this->open_ledger();
  ASSERT_NE(ledger, nullptr);
  ledger->add(account_of("a"), spent_of(1));
  using By = Spending::By;
  using Per = Spending::Per;
  EXPECT_DOUBLE_EQ(ledger->cost_of(By::kKey, "a", "USD", Per::kDay, today()), 1.3);
  EXPECT_DOUBLE_EQ(ledger->cost_of(By::kGroup, "h", "USD", Per::kMonth, today()), 1.3);
  EXPECT_DOUBLE_EQ(ledger->cost_of(By::kKey, "b", "USD", Per::kDay, today()), 0);
  ASSERT_TRUE(ledger->flush());
  EXPECT_EQ(ledger->counts().unwritten_rows, 0U);
  EXPECT_DOUBLE_EQ(total_cost(*this->store_), 1.3);
}

TYPED_TEST(StoreContract, writes_more_sums_than_one_batch_takes) {
  constexpr int kRows = 12'345;
  const auto ledger = this->open_ledger();
  ASSERT_NE(ledger, nullptr);
  for (int i = 0; i < kRows; ++i) ledger->add(account_of(fmt::format("k{}", i)), spent_of(1));
  const auto written = ledger->flush();
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(report_of(*this->store_).lines.size(), static_cast<size_t>(kRows));
  EXPECT_DOUBLE_EQ(total_cost(*this->store_), kRows);
}

}  // namespace
}  // namespace signalbox::shared_spending
