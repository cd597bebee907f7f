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

year_month_day date_of(Day day) {
  return sys_days(days(day));
}

Day to_day(year_month_day date) {
  return sys_days(date).time_since_epoch().count();
}

}  // namespace

std::filesystem::path file_of(const Spending& spending, const std::filesystem::path& config_file) {
  return config_file.parent_path() / spending.file;
}

Day day_of(system_clock::time_point time) {
  return floor<days>(time).time_since_epoch().count();
}

Day begin_of(Spending::Per per, Day day) {
  if (per == Spending::Per::kDay) return day;
  const year_month_day date = date_of(day);
  return to_day(date.year() / date.month() / 1);
}

Day next_after(Spending::Per per, Day day) {
  if (per == Spending::Per::kDay) return day + 1;
  const year_month_day date = date_of(day);
  return to_day((date.year() / date.month() + months(1)) / 1);
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
      [this](const Account& account, const Spent& spent) { count(account, spent.cost); }));
  for (auto& [name, total] : totals_) {
    total.day.before = total.day.own;
    total.month.before = total.month.own;
  }
  return {};
}

/// Starts a new period, if the day is later than the present one.
void Ledger::begin(Period& period, Day day) {
  if (day <= period.begin) return;
  period.begin = day;
  period.own = period.before = 0;
}

// Adds a cost to the totals of its key, its user and its groups.
void Ledger::count(const Account& account, double cost) {
  const auto add = [&](Spending::By by, std::string_view name) {
    if (name.empty()) return;
    const Name key{by, std::string(name), account.currency};
    if (totals_.size() >= kRowsMax && totals_.find(key) == totals_.end()) return;
    auto& entry = *totals_.try_emplace(key).first;
    for (const auto per : {Spending::Per::kDay, Spending::Per::kMonth}) {
      Period& period = entry.second.of(per);
      const Day day = begin_of(per, account.day);
      begin(period, day);
      if (day == period.begin) period.own += cost;
    }
    if (!shared_.empty()) note(entry);
  };
  add(Spending::By::kKey, account.key);
  add(Spending::By::kUser, account.user);
  for (const std::string_view group : groups_of(account.groups)) add(Spending::By::kGroup, group);
}

void Ledger::add(Account account, const Spent& spent) {
  const std::lock_guard lock(mutex_);
  if (!account.currency.empty()) count(account, spent.cost);
  auto& rows = unwritten_.requests;
  if (rows.size() >= kRowsMax && rows.find(account) == rows.end()) {
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

double Ledger::cost_of(Spending::By by, std::string_view name, std::string_view currency,
                       Spending::Per per, Day today) const {
  const std::lock_guard lock(mutex_);
  const auto found = totals_.find({by, std::string(name), std::string(currency)});
  if (found == totals_.end()) return 0;
  return cost_in(found->second, per, today);
}

double Ledger::cost_in(const Total& total, Spending::Per per, Day today) {
  const Period& period = per == Spending::Per::kDay ? total.day : total.month;
  const Day day = begin_of(per, today);
  double out = period.begin == day ? period.own : 0;
  for (const Period::Others& others : period.others) {
    if (others.begin == day) out += others.amount;
  }
  return out;
}

std::vector<std::pair<std::string, double>> Ledger::costs(Spending::By by,
                                                          std::string_view currency,
                                                          Spending::Per per, Day today) const {
  std::vector<std::pair<std::string, double>> out;
  const std::lock_guard lock(mutex_);
  // Requests wait for this lock, so only the totals of this kind are read.
  for (auto at = totals_.lower_bound({by, "", ""}); at != totals_.end(); ++at) {
    const auto& [name, total] = *at;
    if (std::get<0>(name) != by) break;
    if (std::get<2>(name) != currency) continue;
    if (const double cost = cost_in(total, per, today); cost > 0)
      out.emplace_back(std::get<1>(name), cost);
  }
  return out;
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

Ledger::Counts Ledger::counts() const {
  const std::lock_guard lock(mutex_);
  return {unwritten_.size(), failed_writes_};
}

}  // namespace signalbox::spending
