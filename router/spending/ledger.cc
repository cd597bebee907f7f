// If the disk is full or the server is away, sums stay in memory, where requests of the same
// account share one row, and are written as soon as possible.

#include "router/spending/ledger.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/log.h"
#include "router/spending/file_store.h"

namespace signalbox::spending {
namespace {

using config::Spending;
using namespace std::chrono;

// With the time of a write, a process that is killed loses less than a second.
constexpr milliseconds kBatch{500};
// Budgets of several routers depend on what each has written.
constexpr milliseconds kCommonBatch{200};
constexpr seconds kStart{5}, kFollow{1}, kLossReports{60};
constexpr size_t kStep = 100;  // totals
constexpr size_t kBatchRowsMax = 1'000, kBatchBytesMax = size_t{1} << 20;
constexpr std::string_view kOthers = "(others)";

}  // namespace

std::filesystem::path file_of(const Spending& spending, const std::filesystem::path& config_file) {
  return config_file.parent_path() / spending.file;
}

Result<std::unique_ptr<Ledger>> Ledger::open(const std::filesystem::path& file) {
  SIGNALBOX_TRY(auto store, open_file_store(file));
  return open(std::move(store), {});
}

Result<std::unique_ptr<Ledger>> Ledger::open(std::unique_ptr<Store> store,
                                             const std::vector<Budget>& budgets) {
  auto out = std::unique_ptr<Ledger>(new Ledger(std::move(store)));
  if (out->is_common()) {
    out->totals_.compare(budgets);
    const Result<void> read = out->follow(Clock::now() + kStart);
    if (!read && read.error().code == Code::kCorrupt) return tl::unexpected(read.error());
    out->report(read);
  } else {
    SIGNALBOX_TRY_VOID(out->read_month(day_of(system_clock::now())));
  }
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
  const Result<void> written = flush();
  if (!written) {
    log::error("spending", "{}; the router ends, and {} sums that could not be written are lost",
               written.error().message, counts().unwritten_rows);
  }
}

Result<void> Ledger::read_month(Day today) {
  SIGNALBOX_TRY(const auto source, store_->source());
  SIGNALBOX_TRY_VOID(source->each(
      begin_of(Spending::Per::kMonth, today), today,
      [this](const Account& account, const Spent& spent) { totals_.count(account, spent.cost); }));
  totals_.mark_as_from_file();
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

// Returns the number of sums that were written.
Result<size_t> Ledger::write_batch() {
  const std::lock_guard writing(writing_);
  if (batch_.sums.empty()) {
    Sums sums;
    {
      const std::lock_guard lock(mutex_);
      if (unwritten_.empty()) return 0;
      sums = take_some(unwritten_, kBatchRowsMax, kBatchBytesMax);
      batch_rows_ = sums.size();
    }
    const uint64_t number = batch_.number + 1;
    batch_ = is_common() ? make_batch(std::move(sums), number) : Batch{number, std::move(sums), {}};
  }
  const Result<void> written = store_->add(batch_);
  if (!written) {
    const std::lock_guard lock(mutex_);
    ++failed_writes_;
    return tl::unexpected(written.error());
  }
  if (is_common())
    in_steps(batch_.totals, [&](const auto& each) { totals_.add_stored(each.first, each.second); });
  batch_ = {batch_.number, {}, {}};
  const std::lock_guard lock(mutex_);
  return std::exchange(batch_rows_, 0);
}

// Requests wait for the lock, so it is released after each step.
void Ledger::in_steps(const auto& all, const auto& use) {
  std::unique_lock lock(mutex_);
  size_t left = kStep;
  for (const auto& each : all) {
    use(each);
    if (--left > 0) continue;
    left = kStep;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

// Sums that arrive meanwhile wait for the next call.
Result<void> Ledger::flush() {
  for (uint64_t left = counts().unwritten_rows; left > 0;) {
    SIGNALBOX_TRY(const size_t written, write_batch());
    if (written == 0) return {};
    left -= std::min<uint64_t>(left, written);
  }
  return {};
}

// Returns whether there is more to read.
Result<bool> Ledger::read_changes() {
  const std::lock_guard writing(writing_);
  // The store may or may not have the batch, so its totals cannot be interpreted yet.
  if (!batch_.sums.empty()) return false;
  const Day today = day_of(system_clock::now());
  bool anew = false;
  std::vector<TotalKind> kinds;
  {
    const std::lock_guard lock(mutex_);
    anew = std::exchange(reads_anew_, false);
    kinds = totals_.kinds();
  }
  auto changes = store_->changes(kinds, today, anew);
  if (!changes) {
    const std::lock_guard lock(mutex_);
    reads_anew_ = reads_anew_ || anew;
    return tl::unexpected(changes.error());
  }
  bool has_lost = false;
  in_steps(changes->totals, [&](const CommonTotal& each) {
    has_lost = totals_.set_common(each, today) || has_lost;
  });
  if (has_lost) report_loss();
  return changes->has_more;
}

void Ledger::report_loss() {
  if (Clock::now() < loss_reported_ + kLossReports) return;
  loss_reported_ = Clock::now();
  log::warn("spending",
            "{}: totals are less than they were, so the server has an older state; this router's "
            "budgets still count the lost spending, but reports do not",
            store_->name());
}

Result<void> Ledger::follow(Clock::time_point until) {
  do {
    SIGNALBOX_TRY(const bool has_more, read_changes());
    if (!has_more) return {};
  } while (Clock::now() < until);
  return {};
}

// Logs the first of several failures, and the recovery.
void Ledger::report(const Result<void>& written) {
  const std::lock_guard lock(mutex_);
  if (!written && !failing_) {
    log::error("spending", "{}; {}", written.error().message,
               is_common() ? "until this is over, sums stay in memory, and budgets hold for each "
                             "router alone"
                           : "the sums stay in memory until they can be written");
  } else if (written && failing_) {
    log::info("spending", "{}: the sums are written again", store_->name());
  }
  failing_ = !written;
}

void Ledger::write_in_turns() {
  const bool follows = is_common();
  for (;;) {
    bool writes = false;
    {
      std::unique_lock lock(mutex_);
      const milliseconds pause = follows ? kCommonBatch : kBatch;
      if (wake_.wait_for(lock, pause, [this] { return stopping_; })) return;
      writes = !unwritten_.empty() || batch_rows_ > 0;
    }
    if (!writes && !follows) continue;
    Result<void> done = flush();
    if (done && follows) done = follow(Clock::now() + kFollow);
    report(done);
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

void Ledger::compare(const std::vector<Budget>& budgets) {
  const std::lock_guard lock(mutex_);
  reads_anew_ = totals_.compare(budgets) || reads_anew_;
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
  return store_->share_name(fresh);
}

Ledger::Counts Ledger::counts() const {
  const std::lock_guard lock(mutex_);
  return {unwritten_.size() + batch_rows_, failed_writes_, !failing_};
}

}  // namespace signalbox::spending
