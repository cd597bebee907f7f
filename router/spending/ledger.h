#pragma once
// Counts spending in memory and writes it to a file in batches, on a thread of its own.
// No request waits for the disk. Several routers may share the totals that budgets compare: each
// reports its own total and learns the sum of the others' (router/shared_counts).

#include <array>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "router/config/services.h"
#include "router/spending/database.h"

namespace signalbox::spending {

using Budget = config::Spending::Budget;

/// Returns the path of the file, which is relative to the configuration file.
std::filesystem::path file_of(const config::Spending& spending,
                              const std::filesystem::path& config_file);

/// The day of a time, in UTC.
Day day_of(std::chrono::system_clock::time_point time);
/// The first day of the period that a day is in, and of the next one.
Day begin_of(config::Spending::Per per, Day day);
Day next_after(config::Spending::Per per, Day day);

/// One total that a budget compares.
struct TotalKey {
  config::Spending::By by = config::Spending::By::kKey;
  config::Spending::Per per = config::Spending::Per::kDay;
  Day begin = 0;  // the first day of the period
  std::string name, currency;

  auto operator<=>(const TotalKey&) const = default;
};
/// The spending of this router and that of the others. An amount only grows during its period.
struct SharedTotal {
  TotalKey key;
  double own = 0, others = 0;
};

/// Thread-safe. It outlives configurations.
class Ledger {
 public:
  /// Opens the file and reads what this month has cost so far. Errors: those of Database::open().
  static Result<std::unique_ptr<Ledger>> open(const std::filesystem::path& file);
  /// Writes what is not written yet.
  ~Ledger();

  /// Adds a request. The day of `account` is today, or a moment ago.
  void add(Account account, const Spent& spent);
  /// Adds a shadow, which no budget counts.
  void add(const ShadowAccount& account, const ShadowSpent& spent);

  /// The cost in this period of a key, a user or a group.
  double cost_of(config::Spending::By by, std::string_view name, std::string_view currency,
                 config::Spending::Per per, Day today) const;
  /// The costs in this period of all keys, users or groups that have spent something, by name.
  std::vector<std::pair<std::string, double>> costs(config::Spending::By by,
                                                    std::string_view currency,
                                                    config::Spending::Per per, Day today) const;

  /// From now on, changes of the totals that these budgets compare are noted for take_changes().
  void share(const std::vector<Budget>& budgets);
  /// Returns at most `max` totals that have changed since they were returned last.
  std::vector<SharedTotal> take_changes(size_t max);
  /// Makes take_changes() return these totals again, because their report failed.
  void put_back(std::span<const SharedTotal> totals);
  /// Sets what the other routers have spent. `adopts`: if a total knows more of this router's
  /// spending than the file, because the router was killed, the difference is added here.
  void set_others(std::span<const SharedTotal> totals, bool adopts);
  /// Makes take_changes() return all totals, because they were lost.
  void report_all();
  /// Makes what was in the file at the start the spending of another router.
  void disown_file();
  /// The number of totals that take_changes() would return.
  size_t unreported() const;
  /// Returns a name that is stored in the file, and stores `fresh` if there is none yet.
  Result<std::string> name_of_file(std::string_view fresh);

  /// Writes what is not written yet, and returns what the writing returned.
  Result<void> flush();

  struct Counts {
    uint64_t unwritten_rows = 0;
    uint64_t failed_writes = 0;
  };
  Counts counts() const;
  const std::filesystem::path& file() const { return file_; }

 private:
  explicit Ledger(std::filesystem::path file, Database database)
      : file_(std::move(file)), database_(std::move(database)) {}
  Result<void> read_month(Day today);
  void count(const Account& account, double cost);
  struct Total;
  static double cost_in(const Total& total, config::Spending::Per per, Day today);
  void write_in_turns();
  void report(const Result<void>& written);

  /// Users come from trusted headers, but nothing bounds their number.
  static constexpr size_t kRowsMax = 100'000;

  struct Period {
    Day begin = 0;
    double own = 0;
    double before = 0;  // the part of `own` that was in the file at the start
    // The two latest periods that the others have reported: a router whose clock is ahead is in
    // the next one.
    struct Others {
      Day begin = 0;
      double amount = 0;
    };
    std::array<Others, 2> others = {};
  };
  struct Total {
    Period day, month;
    bool is_noted = false;  // the name is in changed_
    Period& of(config::Spending::Per per) {
      return per == config::Spending::Per::kDay ? day : month;
    }
  };
  using Name = std::tuple<config::Spending::By, std::string, std::string>;  // with the currency
  using Totals = std::map<Name, Total>;

  static void begin(Period& period, Day day);
  bool is_shared(const Name& name, config::Spending::Per per) const;
  void note(Totals::value_type& entry);

  const std::filesystem::path file_;
  std::mutex writing_;  // one writer at a time
  Database database_;

  mutable std::mutex mutex_;  // guards the rest
  Sums unwritten_;
  Totals totals_;
  std::vector<Budget> shared_;  // whose totals are shared
  std::vector<Name> changed_;
  uint64_t failed_writes_ = 0;
  bool failing_ = false;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace signalbox::spending
