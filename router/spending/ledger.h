#pragma once
// Counts spending in memory and writes it to a store in batches, on a thread of its own, which also
// reads what other routers have added there. No request waits for the store.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "router/config/services.h"
#include "router/spending/store.h"
#include "router/spending/totals.h"

namespace signalbox::spending {

/// Returns the path of the file, which is relative to the configuration file.
std::filesystem::path file_of(const config::Spending& spending,
                              const std::filesystem::path& config_file);

/// Thread-safe. It outlives configurations.
class Ledger {
 public:
  /// Opens the file and reads what this month has cost so far. Errors: those of Database::open().
  static Result<std::unique_ptr<Ledger>> open(const std::filesystem::path& file);
  /// Reads the spending of all routers so far. An unreadable common store is logged and retried
  /// later. Errors: those of the store; for a common store only kCorrupt.
  static Result<std::unique_ptr<Ledger>> open(std::unique_ptr<Store> store,
                                              const std::vector<Budget>& budgets);
  /// Writes what is not written yet.
  ~Ledger();

  /// Adds a request. The day of `account` is today, or a moment ago.
  void add(Account account, const Spent& spent);
  /// Adds a shadow, which no budget counts.
  void add(const ShadowAccount& account, const ShadowSpent& spent);

  // These lock the totals and call the method of the same name, which totals.h describes.
  double cost_of(config::Spending::By by, std::string_view name, std::string_view currency,
                 config::Spending::Per per, Day today) const;
  std::vector<std::pair<std::string, double>> costs(config::Spending::By by,
                                                    std::string_view currency,
                                                    config::Spending::Per per, Day today) const;
  void share(const std::vector<Budget>& budgets);
  void compare(const std::vector<Budget>& budgets);
  std::vector<SharedTotal> take_changes(size_t max);
  void put_back(std::span<const SharedTotal> totals);
  void set_others(std::span<const SharedTotal> totals, bool adopts);
  void report_all();
  void disown_file();
  size_t unreported() const;

  /// Returns a name that is stored in the file, and stores `fresh` if there is none yet.
  Result<std::string> name_of_file(std::string_view fresh);

  /// Writes what is not written yet, and returns the result of the write.
  Result<void> flush();
  /// Opens the written sums for reading.
  Result<std::unique_ptr<Source>> source() const { return store_->source(); }
  /// True if the totals of the other routers come from the store.
  bool is_common() const { return store_->is_common(); }

  struct Counts {
    uint64_t unwritten_rows = 0;
    uint64_t failed_writes = 0;
    bool works = true;  // the last exchange with the store succeeded
  };
  Counts counts() const;
  /// The name of the store.
  const std::string& store_name() const { return store_->name(); }

 private:
  using Clock = std::chrono::steady_clock;
  explicit Ledger(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  Result<void> read_month(Day today);
  Result<void> follow(Clock::time_point until);
  Result<bool> read_changes();
  Result<size_t> write_batch();
  void in_steps(const auto& all, const auto& use);
  void report_loss();
  void write_in_turns();
  void report(const Result<void>& written);

  std::mutex writing_;  // one writer at a time
  const std::unique_ptr<Store> store_;
  Batch batch_;  // the store may not have it yet
  Clock::time_point loss_reported_ = Clock::time_point() - std::chrono::hours(1);

  mutable std::mutex mutex_;  // guards the rest
  Sums unwritten_;
  uint64_t batch_rows_ = 0;
  Totals totals_;
  bool reads_anew_ = true;
  uint64_t failed_writes_ = 0;
  bool failing_ = false;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace signalbox::spending
