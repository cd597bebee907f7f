#pragma once
// The totals that budgets compare: the spending of this router, and of the others as far as it is
// known. Several routers may share them: each reports its own total and learns the sum of the
// others' (router/shared_counts). A plain value without lock, clock and file, so that a test can
// explore every order of events.

#include <array>
#include <chrono>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "router/config/services.h"
#include "router/spending/spent.h"

namespace signalbox::spending {

using Budget = config::Spending::Budget;

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
/// The spender that a total counts by, and its period.
struct TotalKind {
  config::Spending::By by = config::Spending::By::kKey;
  config::Spending::Per per = config::Spending::Per::kDay;

  auto operator<=>(const TotalKind&) const = default;
};
/// The spending of this router and that of the others. An amount only grows during its period.
struct SharedTotal {
  TotalKey key;
  double own = 0, others = 0;
};
/// The spending of all routers in a store that they share.
struct CommonTotal {
  TotalKey key;
  double amount = 0;
};

/// Visits the key, the user and each group of an account.
template <class Visit>
void each_spender(const Account& account, const Visit& visit) {
  using By = config::Spending::By;
  if (!account.key.empty()) visit(By::kKey, std::string_view(account.key));
  if (!account.user.empty()) visit(By::kUser, std::string_view(account.user));
  for (const std::string_view group : groups_of(account.groups)) visit(By::kGroup, group);
}

class Totals {
 public:
  /// Users come from trusted headers, but nothing bounds their number.
  static constexpr size_t kRowsMax = 100'000;

  /// Adds a cost to the totals of its key, its user and its groups.
  void count(const Account& account, double cost);
  /// Marks all spending counted so far as read from the file. Call it before anything else is
  /// counted.
  void mark_as_from_file();

  /// The cost in this period of a key, a user or a group.
  double cost_of(config::Spending::By by, std::string_view name, std::string_view currency,
                 config::Spending::Per per, Day today) const;
  /// The costs in this period of all keys, users or groups that have spent something, by name.
  std::vector<std::pair<std::string, double>> costs(config::Spending::By by,
                                                    std::string_view currency,
                                                    config::Spending::Per per, Day today) const;

  /// From now on, take_changes() reports changes of the totals that these budgets compare.
  void share(const std::vector<Budget>& budgets);
  /// Like share(), but for a store that has the totals of all routers, so nothing needs to be
  /// reported. Returns whether the budgets have changed.
  bool compare(const std::vector<Budget>& budgets);
  /// The kinds of these budgets' totals.
  std::vector<TotalKind> kinds() const;
  /// Returns at most `max` totals that have changed since they were returned last.
  std::vector<SharedTotal> take_changes(size_t max);
  /// Makes take_changes() return these totals again, because their report failed.
  void put_back(std::span<const SharedTotal> totals);
  /// Sets the spending of the other routers. With `adopts`, a total may contain more of this
  /// router's spending than the file, because the router was killed; the difference is added here.
  /// Precondition of `adopts`: nothing was reported since the start.
  void set_others(std::span<const SharedTotal> totals, bool adopts, Day today);
  /// Notes that the common store has `amount` more of this router's spending.
  void add_stored(const TotalKey& key, double amount);
  /// Sets the amount in the common store, which includes all amounts of add_stored(). Returns true
  /// if it is less than before.
  bool set_common(const CommonTotal& total, Day today);
  /// Makes take_changes() return all totals, because they were lost.
  void report_all();
  /// Treats the amounts that were in the file at the start as the spending of another router.
  void disown_file();
  /// The number of totals that take_changes() would return.
  size_t unreported() const { return changed_.size(); }

 private:
  struct Period {
    Day begin = 0;
    double own = 0;
    double before = 0;  // the part of `own` that was in the file at the start
    double stored = 0;  // the part of `own` that the common store has
    // The two latest periods that the others have reported: a router whose clock is ahead is in
    // the next one.
    struct Others {
      Day begin = 0;
      double amount = 0;
      double missing = 0;  // the part of the period that the common store has lost
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

  static void begin(Period& period, Day day);
  static double cost_in(const Total& total, config::Spending::Per per, Day today);
  bool is_shared(const Name& name, config::Spending::Per per) const;
  void note(std::map<Name, Total>::value_type& entry);
  Period* period_of(const TotalKey& key, Day today);
  static Period::Others* others_of(Period& period, Day begin);

  std::map<Name, Total> totals_;
  std::vector<Budget> shared_;  // whose totals are shared
  bool notes_ = false;          // in changed_
  std::vector<Name> changed_;
};

}  // namespace signalbox::spending
