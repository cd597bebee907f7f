#pragma once
// Counts spending in memory and writes it to a file in batches, on a thread of its own.
// No request waits for the disk.

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
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

  struct Total {
    Day day = 0, month = 0;  // the periods' first days
    double of_day = 0, of_month = 0;
  };
  using Name = std::tuple<config::Spending::By, std::string, std::string>;  // with the currency

  const std::filesystem::path file_;
  std::mutex writing_;  // one writer at a time
  Database database_;

  mutable std::mutex mutex_;  // guards the rest
  Sums unwritten_;
  std::map<Name, Total> totals_;
  uint64_t failed_writes_ = 0;
  bool failing_ = false;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace signalbox::spending
