// The part of the ledger that several routers share. Each router reports what it has spent itself
// in a period, all of it and not the last increment. So a report may come twice or replace a lost
// one, and nothing is counted twice.

#include <algorithm>
#include <chrono>
#include <utility>

#include "router/spending/ledger.h"

namespace signalbox::spending {

using config::Spending;

bool Ledger::is_shared(const Name& name, Spending::Per per) const {
  const auto is_of = [&name, per](const Budget& budget) {
    const auto& [by, of, currency] = name;
    return budget.per == per && budget.by == by && budget.currency == currency &&
           (budget.of.empty() || budget.of == of);
  };
  return std::ranges::any_of(shared_, is_of);
}

void Ledger::note(Totals::value_type& entry) {
  auto& [name, total] = entry;
  if (total.is_noted) return;
  if (!is_shared(name, Spending::Per::kDay) && !is_shared(name, Spending::Per::kMonth)) return;
  total.is_noted = true;
  changed_.push_back(name);
}

void Ledger::share(const std::vector<Budget>& budgets) {
  {
    const std::lock_guard lock(mutex_);
    shared_ = budgets;
  }
  report_all();
}

std::vector<SharedTotal> Ledger::take_changes(size_t max) {
  const std::lock_guard lock(mutex_);
  std::vector<SharedTotal> out;
  const auto end = changed_.begin() + static_cast<ptrdiff_t>(std::min(max, changed_.size()));
  for (auto it = changed_.begin(); it != end; ++it) {
    Total& total = totals_[*it];
    total.is_noted = false;
    for (const auto per : {Spending::Per::kDay, Spending::Per::kMonth}) {
      const Period& period = total.of(per);
      if (period.own == 0 || !is_shared(*it, per)) continue;
      const auto& [by, name, currency] = *it;
      out.push_back({{by, per, period.begin, name, currency}, period.own});
    }
  }
  changed_.erase(changed_.begin(), end);
  return out;
}

void Ledger::put_back(std::span<const SharedTotal> totals) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, own, others] : totals) {
    const auto found = totals_.find({key.by, key.name, key.currency});
    if (found != totals_.end()) note(*found);
  }
}

void Ledger::set_others(std::span<const SharedTotal> totals, bool adopts) {
  const Day today = day_of(std::chrono::system_clock::now());
  const std::lock_guard lock(mutex_);
  for (const SharedTotal& each : totals) {
    const Name name{each.key.by, each.key.name, each.key.currency};
    const Day day = each.key.begin;
    // The clock of another router may be ahead, but not by a day.
    if (!is_shared(name, each.key.per) || day > today + 1) continue;
    if (totals_.size() >= kRowsMax && !totals_.contains(name)) continue;
    Period& period = totals_[name].of(each.key.per);
    auto others = std::ranges::find(period.others, day, &Period::Others::begin);
    if (others == period.others.end()) {
      others = std::ranges::min_element(period.others, {}, &Period::Others::begin);
      if (others->begin < day) *others = {day, 0};
    }
    // A server that was restarted empty learns the amounts one after the other.
    if (others->begin == day) others->amount = std::max(others->amount, each.others);
    if (!adopts || day > today || each.own == 0) continue;
    begin(period, day);
    if (day != period.begin || each.own <= period.own) continue;
    period.before += each.own - period.own;
    period.own = each.own;
  }
}

void Ledger::report_all() {
  const std::lock_guard lock(mutex_);
  if (shared_.empty()) return;
  for (auto& entry : totals_) note(entry);
}

void Ledger::disown_file() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, total] : totals_) {
      for (Period* period : {&total.day, &total.month})
        period->own -= std::exchange(period->before, 0);
    }
  }
  report_all();
}

size_t Ledger::unreported() const {
  const std::lock_guard lock(mutex_);
  return changed_.size();
}

Result<std::string> Ledger::name_of_file(std::string_view fresh) {
  const std::lock_guard writing(writing_);
  return database_.name(fresh);
}

}  // namespace signalbox::spending
