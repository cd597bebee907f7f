// If the disk is full, sums stay in memory, where requests of the same account share one row, and
// are written once there is room.

#include "router/spending/ledger.h"

#include <chrono>
#include <vector>

#include "base/log.h"

namespace signalbox::spending {
namespace {

using config::Spending;
using namespace std::chrono;

// With the time of a write, less than a second is lost if the process is killed.
constexpr milliseconds kBatch{500};
constexpr std::string_view kOthers = "(others)";

}  // namespace

std::filesystem::path file_of(const Spending& spending, const std::filesystem::path& config_file) {
  return config_file.parent_path() / spending.file;
}

Result<std::unique_ptr<Ledger>> Ledger::open(const std::filesystem::path& file) {
  SIGNALBOX_TRY(Database database, Database::open(file));
  auto out = std::unique_ptr<Ledger>(new Ledger(file, std::move(database)));
  SIGNALBOX_TRY_VOID(out->read_month(day_of(system_clock::now())));
  out->thread_ = std::thread([self = out.get()] { self->write_in_turns(); });
  return out;
}

Ledger::~Ledger() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  report(flush());
}

Result<void> Ledger::read_month(Day today) {
  SIGNALBOX_TRY_VOID(database_.each(
      begin_of(Spending::Per::kMonth, today), today,
      [this](const Account& account, const Spent& spent) { totals_.count(account, spent.cost); }));
  totals_.set_file();
  return {};
}

void Ledger::add(Account account, const Spent& spent) {
  const std::lock_guard lock(mutex_);
  if (!account.currency.empty()) totals_.count(account, spent.cost);
  auto& rows = unwritten_.requests;
  if (rows.size() >= Totals::kRowsMax && rows.find(account) == rows.end()) {
    account.user = kOthers;
    account.groups.clear();
  }
  rows[std::move(account)] += spent;
}

// The configuration bounds the names.
void Ledger::add(const ShadowAccount& account, const ShadowSpent& spent) {
  const std::lock_guard lock(mutex_);
  unwritten_.shadows[account] += spent;
}

Result<void> Ledger::flush() {
  const std::lock_guard writing(writing_);
  Sums sums;
  {
    const std::lock_guard lock(mutex_);
    std::swap(sums, unwritten_);
  }
  if (sums.empty()) return {};
  Result<void> written = database_.add(sums);
  if (written) return {};
  const std::lock_guard lock(mutex_);
  ++failed_writes_;
  for (auto& [account, spent] : sums.requests) unwritten_.requests[account] += spent;
  for (auto& [account, spent] : sums.shadows) unwritten_.shadows[account] += spent;
  return written;
}

// Reports the first of several failures, and the end of them.
void Ledger::report(const Result<void>& written) {
  const std::lock_guard lock(mutex_);
  if (!written && !failing_) {
    log::error("spending", "{}; the sums stay in memory until they can be written",
               written.error().message);
  } else if (written && failing_) {
    log::info("spending", "{}: the sums are written again", file_.string());
  }
  failing_ = !written;
}

void Ledger::write_in_turns() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kBatch, [this] { return stopping_; })) return;
      if (unwritten_.empty()) continue;
    }
    report(flush());
  }
}

double Ledger::cost_of(Spending::By by, std::string_view name, std::string_view currency,
                       Spending::Per per, Day today) const {
  const std::lock_guard lock(mutex_);
  return totals_.cost_of(by, name, currency, per, today);
}

std::vector<std::pair<std::string, double>> Ledger::costs(Spending::By by,
                                                          std::string_view currency,
                                                          Spending::Per per, Day today) const {
  const std::lock_guard lock(mutex_);
  return totals_.costs(by, currency, per, today);
}

void Ledger::share(const std::vector<Budget>& budgets) {
  const std::lock_guard lock(mutex_);
  totals_.share(budgets);
}

std::vector<SharedTotal> Ledger::take_changes(size_t max) {
  const std::lock_guard lock(mutex_);
  return totals_.take_changes(max);
}

void Ledger::put_back(std::span<const SharedTotal> totals) {
  const std::lock_guard lock(mutex_);
  totals_.put_back(totals);
}

void Ledger::set_others(std::span<const SharedTotal> totals, bool adopts) {
  const Day today = day_of(system_clock::now());
  const std::lock_guard lock(mutex_);
  totals_.set_others(totals, adopts, today);
}

void Ledger::report_all() {
  const std::lock_guard lock(mutex_);
  totals_.report_all();
}

void Ledger::disown_file() {
  const std::lock_guard lock(mutex_);
  totals_.disown_file();
}

size_t Ledger::unreported() const {
  const std::lock_guard lock(mutex_);
  return totals_.unreported();
}

Result<std::string> Ledger::name_of_file(std::string_view fresh) {
  const std::lock_guard writing(writing_);
  return database_.name(fresh);
}

Ledger::Counts Ledger::counts() const {
  const std::lock_guard lock(mutex_);
  return {unwritten_.size(), failed_writes_};
}

}  // namespace signalbox::spending
