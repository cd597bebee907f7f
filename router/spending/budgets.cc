// A budget counts what requests have cost when they ended.

#include "router/spending/budgets.h"

#include <fmt/core.h>

#include <algorithm>

#include "router/config/access.h"

namespace signalbox::spending {
namespace {

using config::Spending;
using std::chrono::system_clock;

/// The names for which a budget counts this spender.
std::vector<std::string_view> names_of(const Budget& budget, const Spender& spender) {
  std::vector<std::string_view> out;
  if (budget.by == Spending::By::kKey) out.push_back(spender.key);
  if (budget.by == Spending::By::kUser) out.push_back(spender.user);
  if (budget.by == Spending::By::kGroup) out = groups_of(spender.groups);
  std::erase_if(out, [&](std::string_view name) {
    return name.empty() || (!budget.of.empty() && budget.of != name);
  });
  return out;
}

Finding::Action action_of(Spending::Then then) {
  if (then == Spending::Then::kRefuse) return Finding::Action::kRefuse;
  return then == Spending::Then::kCheaper ? Finding::Action::kCheaper : Finding::Action::kWarn;
}

/// A name as headers have it: bytes beyond printable ASCII, % and the separator are encoded.
std::string encoded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte < 0x7F && c != '%' && c != ';';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

void set_renewal(const Budget& budget, system_clock::time_point now, Finding& out) {
  using namespace std::chrono;
  const sys_days next{days(next_after(budget.per, day_of(now)))};
  out.renewal = ceil<seconds>(next - now);
  const year_month_day date = next;
  out.renewed_at =
      fmt::format("{:04}-{:02}-{:02}T00:00:00Z", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace

std::vector<std::string_view> groups_of(std::string_view field) {
  std::vector<std::string_view> out;
  while (!field.empty()) {
    const size_t comma = std::min(field.find(','), field.size());
    const std::string_view group = config::identity_of(field.substr(0, comma));
    if (!group.empty()) out.push_back(group);
    field.remove_prefix(std::min(comma + 1, field.size()));
  }
  return out;
}

std::optional<Finding> judge(const std::vector<Budget>& budgets, const Ledger& ledger,
                             const Spender& spender, system_clock::time_point now) {
  std::optional<Finding> out;
  for (const Budget& budget : budgets) {
    for (const std::string_view name : names_of(budget, spender)) {
      const double spent =
          ledger.cost_of(budget.by, name, budget.currency, budget.per, day_of(now));
      if (spent < budget.amount * budget.warn_at) continue;
      const Finding::Action action =
          spent < budget.amount ? Finding::Action::kWarn : action_of(budget.then);
      if (out && out->action >= action) continue;
      out.emplace();
      out->action = action;
      out->budget = budget.name;
      out->name = name;
      out->spent = spent;
      out->amount = budget.amount;
      out->currency = budget.currency;
      set_renewal(budget, now, *out);
    }
  }
  return out;
}

std::string header_of(const Finding& finding) {
  return fmt::format("{}; of={}; spent={:.2f}; amount={:.2f}; currency={}; renewed={}",
                     encoded(finding.budget), encoded(finding.name), finding.spent, finding.amount,
                     finding.currency, finding.renewed_at);
}

}  // namespace signalbox::spending
