#pragma once
// The places of a ledger's sums, for tests that hold for each of them: a file, and a real
// PostgreSQL.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "router/shared_spending/postgres_spending.h"
#include "router/spending/file_store.h"
#include "router/spending/report.h"
#include "tests/router/postgres_process.h"
#include "tests/router/temporary_directory.h"
#include "tests/router/two_sites.h"

namespace signalbox::shared_spending {

inline constexpr const char* kTable = "signalbox_spending";

class FilePlace {
 public:
  static std::string missing() { return ""; }
  void start() {}
  std::unique_ptr<spending::Store> connect() const {
    auto out = spending::open_file_store(folder_.path() / "spending.db");
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? *std::move(out) : nullptr;
  }

 private:
  const test::TemporaryDirectory folder_;
};

/// One server for all tests of a program, because making it takes seconds. Each test begins without
/// tables.
class PostgresPlace {
 public:
  static std::string missing() { return test::PostgresProcess::missing(); }
  void start() {
    if (process() == nullptr) process() = std::make_unique<test::PostgresProcess>();
    start_again();
    client_ = *stores::make_postgres(options().server, {kTable, {}});
    for (const char* ending : {"", "_shadows", "_totals", "_routers", "_state"})
      ask(fmt::format("DROP TABLE IF EXISTS {}{}", kTable, ending));
  }
  void start_again() {
    if (!process()->server().is_running()) process()->start();
  }
  /// As by kill -9. The data stay.
  void end() { process()->server().end(); }
  const test::ServerProcess& server() const { return process()->server(); }

  PostgresOptions options() const {
    PostgresOptions out{.server = process()->address()};
    out.server.connect_limit = test::kWithin;
    return out;
  }
  std::unique_ptr<spending::Store> connect() const { return connect(options()); }
  static std::unique_ptr<spending::Store> connect(const PostgresOptions& options) {
    auto out = make_postgres_store(options);
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? *std::move(out) : nullptr;
  }

  std::vector<stores::Postgres::Row> ask(const std::string& statement) {
    auto done = client_->run(statement, {}, test::kWithin);
    EXPECT_TRUE(done) << statement << ": " << (done ? "" : done.error().message);
    return done ? *std::move(done) : std::vector<stores::Postgres::Row>();
  }
  std::string text(const std::string& statement) {
    const auto rows = ask(statement);
    return rows.empty() ? "" : rows[0][0];
  }

 private:
  static std::unique_ptr<test::PostgresProcess>& process() {
    static std::unique_ptr<test::PostgresProcess> out;
    return out;
  }
  std::unique_ptr<stores::Postgres> client_;
};

inline spending::Day today() {
  return spending::day_of(std::chrono::system_clock::now());
}

inline spending::Account account_of(std::string key, spending::Day day = today()) {
  spending::Account out;
  out.day = day;
  out.key = std::move(key);
  out.user = "u-" + out.key;
  out.groups = "g,h";
  out.model = "m";
  out.currency = "USD";
  return out;
}

inline spending::Spent spent_of(double cost) {
  return {.requests = 1, .prompt = 10, .cost = cost, .cost_on_largest = 2 * cost};
}

inline spending::Batch batch_of(uint64_t number, const spending::Account& account, double cost) {
  spending::Sums sums;
  sums.requests[account] = spent_of(cost);
  return spending::make_batch(std::move(sums), number);
}

/// By key, from all days.
inline spending::Report report_of(spending::Store& store,
                                  spending::GroupBy by = spending::GroupBy::kKey) {
  auto source = store.source();
  EXPECT_TRUE(source) << (source ? "" : source.error().message);
  if (!source) return {};
  auto out = spending::sum_up(**source, by, 0, today() + 1);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *std::move(out) : spending::Report();
}

inline double total_cost(spending::Store& store) {
  const spending::Report report = report_of(store);
  return report.totals.empty() ? 0 : report.totals.front().spent.cost;
}

}  // namespace signalbox::shared_spending
