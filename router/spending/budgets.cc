// A budget counts a request's cost when the request ends.

#include "router/spending/budgets.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/json_writer.h"
#include "router/config/access.h"

namespace signalbox::spending {
namespace {

using config::Spending;
using std::chrono::system_clock;

constexpr size_t kSpendersMax = 100;

/// Returns the names under which a budget counts this spender.
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

/// Returns a name in the form for headers: bytes beyond printable ASCII, % and the separator are
/// encoded.
std::string encoded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x20 && byte < 0x7F && c != '%' && c != ';';
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

std::chrono::sys_days renewal_of(const Budget& budget, system_clock::time_point now) {
  return std::chrono::sys_days{std::chrono::days(next_after(budget.per, day_of(now)))};
}

std::string text_of_time(std::chrono::sys_days day) {
  const std::chrono::year_month_day date = day;
  return fmt::format("{:04}-{:02}-{:02}T00:00:00Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

void set_renewal(const Budget& budget, system_clock::time_point now, Finding& out) {
  using namespace std::chrono;
  const sys_days next = renewal_of(budget, now);
  out.renewal = ceil<seconds>(next - now);
  out.renewed_at = text_of_time(next);
}

/// Returns the spenders that a budget counts; the one that has spent most comes first.
std::vector<std::pair<std::string, double>> spenders_of(const Budget& budget, const Ledger& ledger,
                                                        Day today) {
  if (!budget.of.empty()) {
    const double spent = ledger.cost_of(budget.by, budget.of, budget.currency, budget.per, today);
    return {{budget.of, spent}};
  }
  auto out = ledger.costs(budget.by, budget.currency, budget.per, today);
  std::ranges::stable_sort(out, std::greater<>(), [](const auto& each) { return each.second; });
  return out;
}

void write_budget(json::Writer& out, const Budget& budget, const Ledger& ledger,
                  system_clock::time_point now) {
  constexpr std::string_view kBy[] = {"key", "user", "group"}, kPer[] = {"day", "month"},
                             kThen[] = {"warn", "cheaper", "refuse"};
  const auto word = [](const auto& words, auto value) { return words[static_cast<size_t>(value)]; };
  out.begin_object().member("name", budget.name).member("by", word(kBy, budget.by));
  if (!budget.of.empty()) out.member("of", budget.of);
  out.member("amount", budget.amount).member("currency", budget.currency);
  out.member("per", word(kPer, budget.per)).member("then", word(kThen, budget.then));
  out.member("warn_at", budget.warn_at);
  out.member("renewed", text_of_time(renewal_of(budget, now))).key("spenders").begin_array();
  const auto spenders = spenders_of(budget, ledger, day_of(now));
  const size_t shown = std::min(spenders.size(), kSpendersMax);
  for (const auto& [name, spent] : std::span(spenders).first(shown)) {
    out.begin_object().member("name", name).member("spent", std::round(spent * 1e9) / 1e9);
    out.member("state", spent >= budget.amount                    ? "exceeded"
                        : spent >= budget.amount * budget.warn_at ? "warned"
                                                                  : "fine");
    out.end_object();
  }
  out.end_array().member("further", static_cast<int64_t>(spenders.size() - shown)).end_object();
}

}  // namespace

std::vector<std::string_view> groups_of(std::string_view field) {
  std::vector<std::string_view> out;
  if (field.find(',') == std::string_view::npos) {  // a set would cost most of the time
    const std::string_view only = config::identity_of(field);
    if (!only.empty()) out.push_back(only);
    return out;
  }
  std::unordered_set<std::string_view> known;
  while (!field.empty()) {
    const size_t comma = std::min(field.find(','), field.size());
    const std::string_view group = config::identity_of(field.substr(0, comma));
    if (!group.empty() && known.insert(group).second) out.push_back(group);
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

std::string budgets_json(const std::vector<Budget>& budgets, const Ledger& ledger,
                         system_clock::time_point now) {
  json::Writer out;
  out.begin_object().key("budgets").begin_array();
  for (const Budget& budget : budgets) write_budget(out, budget, ledger, now);
  return out.end_array().end_object().take();
}

std::string header_of(const Finding& finding) {
  return fmt::format("{}; of={}; spent={:.2f}; amount={:.2f}; currency={}; renewed={}",
                     encoded(finding.budget), encoded(finding.name), finding.spent, finding.amount,
                     finding.currency, finding.renewed_at);
}

}  // namespace signalbox::spending
