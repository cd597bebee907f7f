// The router's name is new at each start, so its batches begin with 1. No batch of an earlier
// process is ever sent again, because unwritten batches are lost with their process. If a running
// machine is copied, two routers have the same name; the first one to notice takes another name.

#include "router/shared_spending/postgres_spending.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/log.h"
#include "router/shared_spending/columns.h"
#include "router/shared_spending/statements.h"

namespace signalbox::shared_spending {
namespace {

using config::Spending;
using spending::Day;
using std::chrono::milliseconds;
using stores::Postgres;
using Clock = std::chrono::steady_clock;
using Rows = std::vector<Postgres::Row>;

constexpr std::string_view kSpendingSection = "global.spending.postgres";
constexpr std::string_view kFirstId = "00000000-0000-0000-0000-000000000000",
                           kLastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
constexpr std::chrono::hours kCleaning{1};
/// The cells of a row of changes_statement(): first those of the state, then those of a total.
constexpr size_t kStateCells = 3, kTotalCells = 5;

std::string new_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Totals of the day before and its month are kept, because the clocks of routers differ.
std::string first_day(Spending::Per per, Day today) {
  return std::to_string(spending::begin_of(per, today - 1));
}

/// Shared by all threads. A report in progress may keep it longer than the store does.
struct Server {
  PostgresOptions options;
  std::unique_ptr<Postgres> postgres;

  Result<Rows> run(const std::string& statement, Postgres::Parameters parameters,
                   milliseconds limit) const {
    auto rows = postgres->run(statement, parameters, limit);
    if (!rows) return fail(Code::kUpstream, "{}", rows.error().message);
    return rows;
  }
  tl::unexpected<Error> foreign(std::string_view what) const {
    return fail(Code::kCorrupt, "{}: table {}: {}", postgres->name(), options.table, what);
  }
  /// Checks the row that begins with the version.
  Result<void> check(const Rows& rows) const {
    if (rows.empty() || rows.front().empty())
      return foreign(fmt::format("{}_state has no row; it names the version", options.table));
    const std::string& version = rows.front().front();
    if (version == std::to_string(kVersion)) return {};
    return foreign(fmt::format("expected version {} of its form, found {}", kVersion, version));
  }
};

class PostgresSource final : public spending::Source {
 public:
  explicit PostgresSource(std::shared_ptr<const Server> server) : server_(std::move(server)) {}

  Result<void> each(Day first, Day last, const Visit& visit) override {
    return pages(requests_statement(server_->options.table), first, last, [&](Cells cells) {
      const auto read = read_request(cells);
      if (read) visit(read->first, read->second);
      return read.has_value();
    });
  }
  Result<void> each_shadow(Day first, Day last, const VisitShadow& visit) override {
    return pages(shadows_statement(server_->options.table), first, last, [&](Cells cells) {
      const auto read = read_shadow(cells);
      if (read) visit(read->first, read->second);
      return read.has_value();
    });
  }

 private:
  Result<void> pages(const std::string& statement, Day first, Day last, const auto& read) const {
    std::string day = std::to_string(first - 1), id(kLastId);
    const std::string until = std::to_string(last);
    for (;;) {
      SIGNALBOX_TRY(const Rows rows,
                    server_->run(statement, {day, id, until}, server_->options.page_limit));
      for (const Postgres::Row& row : rows) {
        if (row.size() < 2 || !read(Cells(row).subspan(1)))
          return server_->foreign("it has a row that no router wrote");
      }
      if (rows.size() < kPageRows) return {};
      id = rows.back()[0];
      day = rows.back()[1];
    }
  }

  const std::shared_ptr<const Server> server_;
};

class PostgresStore final : public spending::Store {
 public:
  explicit PostgresStore(std::shared_ptr<const Server> server)
      : server_(std::move(server)),
        add_(add_statement(server_->options.table)),
        changes_(changes_statement(server_->options.table)) {}

  const std::string& name() const override { return server_->postgres->name(); }
  bool is_common() const override { return true; }

  Result<void> add(const spending::Batch& batch) override {
    const std::string number = std::to_string(batch.number);
    if (number != number_) {
      token_ = new_name();
      text_ = text_of(batch);
    }
    number_ = number;
    SIGNALBOX_TRY(const bool is_twice, send());
    if (!is_twice) return {};
    router_ = new_name();
    log::warn("spending", "{}: another process has this router's name; it takes a new one", name());
    SIGNALBOX_TRY_VOID(send());
    return {};
  }

  Result<std::unique_ptr<spending::Source>> source() override {
    SIGNALBOX_TRY(const Rows rows, server_->run(version_statement(server_->options.table), {},
                                                server_->options.read_limit));
    SIGNALBOX_TRY_VOID(server_->check(rows));
    std::unique_ptr<spending::Source> out = std::make_unique<PostgresSource>(server_);
    return out;
  }

  Result<spending::Changes> changes(const std::vector<spending::TotalKind>& kinds, Day today,
                                    bool anew) override {
    if (anew) begin_anew();
    const std::string names = array_of(kinds), day = first_day(Spending::Per::kDay, today),
                      month = first_day(Spending::Per::kMonth, today);
    SIGNALBOX_TRY(const Rows rows, server_->run(changes_, {counter_, id_, names, day, month},
                                                server_->options.read_limit));
    SIGNALBOX_TRY_VOID(server_->check(rows));
    SIGNALBOX_TRY(auto out, take(rows));
    if (!out.has_more) clean(day, month);
    return out;
  }

 private:
  // Returns true if another process uses this name, too.
  Result<bool> send() {
    SIGNALBOX_TRY(const Rows rows, server_->run(add_, {router_, number_, token_, text_},
                                                server_->options.write_limit));
    SIGNALBOX_TRY_VOID(server_->check(rows));
    return rows.front().back() == "true";
  }

  void begin_anew() {
    counter_ = "0";
    id_ = kFirstId;
  }

  static std::string array_of(const std::vector<spending::TotalKind>& kinds) {
    std::string out;
    for (const spending::TotalKind kind : kinds) out += (out.empty() ? "" : ",") + name_of(kind);
    return fmt::format("{{{}}}", out);
  }

  // If the server lacks the last batches or was started again, reads everything from the beginning.
  Result<spending::Changes> take(const Rows& rows) {
    spending::Changes out;
    for (const Postgres::Row& row : rows) {
      if (row.size() != kStateCells + kTotalCells + 2)
        return server_->foreign("its reply has another form");
      if (auto total = read_total(Cells(row).subspan(kStateCells, kTotalCells)))
        out.totals.push_back(*std::move(total));
      else if (!row.back().empty())
        report_foreign();
    }
    const std::string& epoch = rows.front()[1];
    const auto last = read_integer(rows.front()[2]), known = read_integer(counter_);
    if (!last || !known) return server_->foreign("the number of its last batch is not a number");
    const bool is_other = !epoch_.empty() && (epoch != epoch_ || *last < *known);
    epoch_ = epoch;
    if (is_other) {
      begin_anew();
    } else if (rows.size() < kPageRows) {
      counter_ = rows.front()[2];
      id_ = kLastId;
    } else {
      counter_ = rows.back()[kStateCells + kTotalCells];
      id_ = rows.back()[kStateCells + kTotalCells + 1];
    }
    out.has_more = is_other || rows.size() >= kPageRows;
    return out;
  }

  void report_foreign() {
    if (std::exchange(foreign_reported_, true)) return;
    log::warn("spending", "{}: table {}_totals has a row that no router wrote; it does not count",
              name(), server_->options.table);
  }

  // Ignores errors, because a login without the right to delete leaves this to another router.
  void clean(const std::string& day, const std::string& month) {
    if (Clock::now() < clean_at_) return;
    clean_at_ = Clock::now() + kCleaning;
    const PostgresOptions& options = server_->options;
    auto done =
        server_->run(clean_totals_statement(options.table), {day, month}, options.page_limit);
    if (done) done = server_->run(clean_routers_statement(options.table), {}, options.page_limit);
    if (!done && !std::exchange(cannot_clean_, true)) {
      log::warn("spending", "{}; totals of former months stay in table {}_totals",
                done.error().message, options.table);
    }
  }

  const std::shared_ptr<const Server> server_;  // owned by this store and by its sources
  std::string router_ = new_name();
  std::string number_, token_, text_;  // of the last batch
  const std::string add_, changes_;
  std::string epoch_;
  std::string counter_ = "0", id_{kFirstId};  // of the last total that was read
  Clock::time_point clean_at_{};
  bool cannot_clean_ = false, foreign_reported_ = false;
};

}  // namespace

Result<std::unique_ptr<spending::Store>> make_postgres_store(const PostgresOptions& options) {
  SIGNALBOX_TRY(auto postgres, stores::make_postgres(options.server, tables(options.table)));
  auto server = std::make_shared<const Server>(Server{options, std::move(postgres)});
  std::unique_ptr<spending::Store> out = std::make_unique<PostgresStore>(std::move(server));
  return out;
}

Result<std::unique_ptr<spending::Store>> open_store(const config::Spending& spending) {
  PostgresOptions options;
  auto set = stores::set_postgres(spending.postgres, options);
  if (!set) return fail_in(kSpendingSection, std::move(set).error());
  auto out = make_postgres_store(options);
  if (!out) return fail_in(kSpendingSection, std::move(out).error());
  return out;
}

}  // namespace signalbox::shared_spending
