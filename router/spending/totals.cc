// Each router reports its whole spending in a period instead of the last increment. So a report may
// be repeated, or replace a lost one, and nothing is counted twice.

#include "router/spending/totals.h"

#include <algorithm>
#include <set>

namespace signalbox::spending {

namespace {

using config::Spending;
using namespace std::chrono;

year_month_day date_of(Day day) {
  return sys_days(days(day));
}

// Sums of the same amounts in another order differ by less than this part.
constexpr double kNoise = 1e-9;

Day to_day(year_month_day date) {
  return sys_days(date).time_since_epoch().count();
}

}  // namespace

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

/// Starts a new period, if the day is later than the present one.
void Totals::begin(Period& period, Day day) {
  if (day <= period.begin) return;
  period.begin = day;
  period.own = period.before = period.stored = 0;
}

void Totals::mark_as_from_file() {
  for (auto& [name, total] : totals_) {
    total.day.before = total.day.own;
    total.month.before = total.month.own;
  }
}

void Totals::count(const Account& account, double cost) {
  each_spender(account, [&](Spending::By by, std::string_view name) {
    const Name key{by, std::string(name), account.currency};
    if (totals_.size() >= kRowsMax && totals_.find(key) == totals_.end()) return;
    auto& entry = *totals_.try_emplace(key).first;
    for (const auto per : {Spending::Per::kDay, Spending::Per::kMonth}) {
      Period& period = entry.second.of(per);
      const Day day = begin_of(per, account.day);
      begin(period, day);
      if (day == period.begin) period.own += cost;
    }
    if (notes_) note(entry);
  });
}

double Totals::cost_of(Spending::By by, std::string_view name, std::string_view currency,
                       Spending::Per per, Day today) const {
  const auto found = totals_.find({by, std::string(name), std::string(currency)});
  if (found == totals_.end()) return 0;
  return cost_in(found->second, per, today);
}

double Totals::cost_in(const Total& total, Spending::Per per, Day today) {
  const Period& period = per == Spending::Per::kDay ? total.day : total.month;
  const Day day = begin_of(per, today);
  double out = period.begin == day ? period.own : 0;
  for (const Period::Others& others : period.others) {
    if (others.begin == day) out += others.amount;
  }
  return out;
}

std::vector<std::pair<std::string, double>> Totals::costs(Spending::By by,
                                                          std::string_view currency,
                                                          Spending::Per per, Day today) const {
  std::vector<std::pair<std::string, double>> out;
  // Read only the totals of this kind, because requests wait meanwhile.
  for (auto at = totals_.lower_bound({by, "", ""}); at != totals_.end(); ++at) {
    const auto& [name, total] = *at;
    if (std::get<0>(name) != by) break;
    if (std::get<2>(name) != currency) continue;
    if (const double cost = cost_in(total, per, today); cost > 0)
      out.emplace_back(std::get<1>(name), cost);
  }
  return out;
}

bool Totals::is_shared(const Name& name, Spending::Per per) const {
  const auto is_of = [&name, per](const Budget& budget) {
    const auto& [by, of, currency] = name;
    return budget.per == per && budget.by == by && budget.currency == currency &&
           (budget.of.empty() || budget.of == of);
  };
  return std::ranges::any_of(shared_, is_of);
}

void Totals::note(std::map<Name, Total>::value_type& entry) {
  auto& [name, total] = entry;
  if (total.is_noted) return;
  if (!is_shared(name, Spending::Per::kDay) && !is_shared(name, Spending::Per::kMonth)) return;
  total.is_noted = true;
  changed_.push_back(name);
}

void Totals::share(const std::vector<Budget>& budgets) {
  shared_ = budgets;
  notes_ = true;
  report_all();
}

bool Totals::compare(const std::vector<Budget>& budgets) {
  if (shared_ == budgets) return false;
  shared_ = budgets;
  return true;
}

std::vector<TotalKind> Totals::kinds() const {
  std::set<TotalKind> out;
  for (const Budget& each : shared_) out.insert({each.by, each.per});
  return {out.begin(), out.end()};
}

std::vector<SharedTotal> Totals::take_changes(size_t max) {
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

void Totals::put_back(std::span<const SharedTotal> totals) {
  for (const auto& [key, own, others] : totals) {
    const auto found = totals_.find({key.by, key.name, key.currency});
    if (found != totals_.end()) note(*found);
  }
}

/// Returns null if no budget compares the total, or if there is no room for it.
Totals::Period* Totals::period_of(const TotalKey& key, Day today) {
  const Name name{key.by, key.name, key.currency};
  // The clock of another router may be ahead, but not by a day.
  if (!is_shared(name, key.per) || key.begin > today + 1) return nullptr;
  if (totals_.size() >= kRowsMax && !totals_.contains(name)) return nullptr;
  return &totals_[name].of(key.per);
}

/// Returns null for a period before those that are kept.
Totals::Period::Others* Totals::others_of(Period& period, Day begin) {
  auto others = std::ranges::find(period.others, begin, &Period::Others::begin);
  if (others != period.others.end()) return &*others;
  others = std::ranges::min_element(period.others, {}, &Period::Others::begin);
  if (others->begin > begin) return nullptr;
  *others = {.begin = begin};
  return &*others;
}

void Totals::set_others(std::span<const SharedTotal> totals, bool adopts, Day today) {
  for (const SharedTotal& each : totals) {
    const Day day = each.key.begin;
    Period* const found = period_of(each.key, today);
    if (found == nullptr) continue;
    Period& period = *found;
    // A server that was restarted empty learns the amounts one after the other.
    if (Period::Others* const others = others_of(period, day))
      others->amount = std::max(others->amount, each.others);
    if (!adopts || day > today || each.own == 0) continue;
    begin(period, day);
    // Requests may have been counted since the start, so the amounts cannot be compared.
    const double missing = each.own - period.before;
    if (day != period.begin || missing <= 0) continue;
    period.before += missing;
    period.own += missing;
  }
}

void Totals::add_stored(const TotalKey& key, double amount) {
  const auto found = totals_.find({key.by, key.name, key.currency});
  if (found == totals_.end()) return;
  Period& period = found->second.of(key.per);
  if (period.begin == key.begin) period.stored += amount;
}

// A store that was restored from an older state has less than before. From now on, the difference
// is added to every sum that it returns. Otherwise, new spending of the others would not count
// until it exceeds the loss.
bool Totals::set_common(const CommonTotal& total, Day today) {
  const auto& [key, amount] = total;
  if (amount <= 0) return false;
  Period* const period = period_of(key, today);
  Period::Others* const others = period == nullptr ? nullptr : others_of(*period, key.begin);
  if (others == nullptr) return false;
  const double stored = period->begin == key.begin ? period->stored : 0;
  const double known = others->amount, now = amount - stored + others->missing;
  others->amount = std::max(known, now);
  others->missing += others->amount - now;
  return known - now > kNoise * (known + stored);
}

void Totals::report_all() {
  if (!notes_) return;
  for (auto& entry : totals_) note(entry);
}

void Totals::disown_file() {
  for (auto& [name, total] : totals_) {
    for (Period* period : {&total.day, &total.month})
      period->own -= std::exchange(period->before, 0);
  }
  report_all();
}

}  // namespace signalbox::spending
