// Amounts of different currencies are never added.

#include "router/spending/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "router/config/access.h"

namespace signalbox::spending {
namespace {

constexpr std::array<std::string_view, 6> kWords = {"key",   "user",     "group",
                                                    "model", "decision", "day"};

std::vector<std::string> line_names(const Account& account, GroupBy by) {
  switch (by) {
    case GroupBy::kKey:
      return {account.key};
    case GroupBy::kUser:
      return {account.user};
    case GroupBy::kModel:
      return {account.model};
    case GroupBy::kDecision:
      return {account.decision};
    case GroupBy::kDay:
      return {text_of(account.day)};
    case GroupBy::kGroup:
      break;
  }
  std::vector<std::string> out;
  for (const std::string_view group : groups_of(account.groups)) out.emplace_back(group);
  if (out.empty()) out.emplace_back();
  return out;
}

// Rounds to a billionth of a currency unit; digits beyond that are noise of binary fractions.
double rounded(double amount) {
  return std::round(amount * 1e9) / 1e9;
}

void write_line(json::Writer& out, const ReportLine& line) {
  const auto count = [&out](std::string_view name, uint64_t value) {
    out.member(name, static_cast<int64_t>(value));
  };
  count("requests", line.spent.requests);
  count("prompt_tokens", line.spent.prompt);
  count("cached_tokens", line.spent.cached);
  count("cache_write_tokens", line.spent.written);
  count("completion_tokens", line.spent.completion);
  count("reasoning_tokens", line.spent.reasoning);
  if (line.currency.empty()) return;
  out.member("currency", line.currency).member("cost", rounded(line.spent.cost));
  out.member("cost_on_largest", rounded(line.spent.cost_on_largest));
  out.member("saved", rounded(line.spent.cost_on_largest - line.spent.cost));
}

double share(double part, uint64_t of) {
  return of == 0 ? 0 : part / static_cast<double>(of);
}

bool is_comparable(const ShadowAccount& of) {
  return !of.currency.empty() && of.currency == of.shadow_currency;
}

// Shares and means are left out if there is nothing to divide by.
void write_shadow(json::Writer& out, const ShadowLine& line) {
  const ShadowSpent& spent = line.spent;
  const auto count = [&out](std::string_view name, uint64_t value) {
    out.member(name, static_cast<int64_t>(value));
  };
  out.begin_object().member("decision", line.of.decision).member("model", line.of.model);
  out.member("shadow", line.of.shadow);
  count("pairs", spent.pairs);
  count("failed", spent.failed);
  count("compared", spent.compared);
  count("agreed", spent.agreed);
  count("contradicted", spent.contradicted);
  if (spent.compared > 0) {
    out.member("agreed_share", share(static_cast<double>(spent.agreed), spent.compared));
    out.member("contradicted_share",
               share(static_cast<double>(spent.contradicted), spent.compared));
  }
  if (spent.measured > 0) out.member("similarity", share(spent.similarity, spent.measured));
  count("tokens", spent.tokens);
  count("shadow_tokens", spent.shadow_tokens);
  if (spent.pairs > 0) {
    out.member("seconds", share(spent.seconds, spent.pairs));
    out.member("shadow_seconds", share(spent.shadow_seconds, spent.pairs));
  }
  if (!line.of.currency.empty())
    out.member("currency", line.of.currency).member("cost", rounded(spent.cost));
  if (!line.of.shadow_currency.empty()) {
    out.member("shadow_currency", line.of.shadow_currency);
    out.member("shadow_cost", rounded(spent.shadow_cost));
    out.member("failed_cost", rounded(spent.failed_cost));
  }
  if (is_comparable(line.of)) out.member("saved", rounded(spent.cost - spent.shadow_cost));
  out.end_object();
}

std::string percent(uint64_t part, uint64_t of) {
  if (of == 0) return "-";
  return fmt::format("{:.1f} %", 100 * share(static_cast<double>(part), of));
}

std::string shadow_table(const std::vector<ShadowLine>& lines) {
  size_t decision = sizeof("decision") - 1, model = sizeof("model") - 1, shadow = model + 1;
  for (const ShadowLine& line : lines) {
    decision = std::max(decision, line.of.decision.size());
    model = std::max(model, line.of.model.size());
    shadow = std::max(shadow, line.of.shadow.size());
  }
  std::string out = fmt::format(
      "\n{:<{}}  {:<{}}  {:<{}}  {:>8}  {:>8}  {:>8}  {:>10}  {:>10}  {:>12}  {:>12}  {:>12}\n",
      "decision", decision, "model", model, "shadow", shadow, "pairs", "failed", "agree",
      "contradict", "similarity", "cost", "shadow cost", "saved");
  for (const auto& [of, spent] : lines) {
    const std::string similarity =
        spent.measured == 0 ? "-" : fmt::format("{:.3f}", share(spent.similarity, spent.measured));
    out += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>8}  {:>8}  {:>8}  {:>10}  {:>10}", of.decision,
                       decision, of.model, model, of.shadow, shadow, spent.pairs, spent.failed,
                       percent(spent.agreed, spent.compared),
                       percent(spent.contradicted, spent.compared), similarity);
    if (is_comparable(of)) {
      out += fmt::format("  {:>12.4f}  {:>12.4f}  {:>12.4f}  {}", spent.cost, spent.shadow_cost,
                         spent.cost - spent.shadow_cost, of.currency);
    }
    out += "\n";
  }
  return out;
}

std::string row_of(std::string_view name, const ReportLine& line, size_t width) {
  const Spent& spent = line.spent;
  std::string out = fmt::format("{:<{}}  {:>9}  {:>12}  {:>12}  {:>12}", name, width,
                                spent.requests, spent.prompt, spent.cached, spent.completion);
  if (!line.currency.empty()) {
    out += fmt::format("  {:>12.4f}  {:>12.4f}  {}", spent.cost, spent.cost_on_largest - spent.cost,
                       line.currency);
  }
  return out + "\n";
}

}  // namespace

std::optional<GroupBy> parse_group_by(std::string_view word) {
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) return std::nullopt;
  return static_cast<GroupBy>(found - kWords.begin());
}

Result<Day> parse_day(std::string_view text) {
  constexpr int64_t kSecondsADay = 86'400;
  const auto seconds = config::parse_time(text);
  if (!seconds || *seconds % kSecondsADay != 0)
    return fail(Code::kInvalid, "expected a date such as 2026-01-31, found {}",
                json::quote_briefly(text));
  return *seconds / kSecondsADay;
}

std::string text_of(Day day) {
  using namespace std::chrono;
  const year_month_day date{sys_days(days(day))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

Result<Report> sum_up(Source& source, GroupBy by, Day first, Day last) {
  std::map<std::pair<std::string, std::string>, Spent> lines;
  std::map<std::string, Spent> totals;
  SIGNALBOX_TRY_VOID(source.each(first, last, [&](const Account& account, const Spent& spent) {
    for (std::string& name : line_names(account, by))
      lines[{std::move(name), account.currency}] += spent;
    totals[account.currency] += spent;
  }));
  std::map<ShadowAccount, ShadowSpent> shadows;
  SIGNALBOX_TRY_VOID(
      source.each_shadow(first, last, [&](ShadowAccount account, const ShadowSpent& spent) {
        account.day = 0;
        shadows[std::move(account)] += spent;
      }));
  Report out;
  for (auto& [account, spent] : shadows) out.shadows.push_back({account, spent});
  out.by = kWords[static_cast<size_t>(by)];
  for (const auto& [of, spent] : lines) out.lines.push_back({of.first, of.second, spent});
  for (const auto& [currency, spent] : totals) out.totals.push_back({"", currency, spent});
  return out;
}

std::string report_json(const Report& report) {
  json::Writer out;
  out.begin_object().member("by", report.by).key("lines").begin_array();
  for (const ReportLine& line : report.lines) {
    out.begin_object().member(report.by, line.name);
    write_line(out, line);
    out.end_object();
  }
  out.end_array().key("totals").begin_array();
  for (const ReportLine& line : report.totals) {
    out.begin_object();
    write_line(out, line);
    out.end_object();
  }
  out.end_array().key("shadows").begin_array();
  for (const ShadowLine& line : report.shadows) write_shadow(out, line);
  return out.end_array().end_object().take();
}

std::string report_text(const Report& report) {
  constexpr std::string_view kNone = "(none)", kTotal = "total";
  size_t width = std::max(report.by.size(), kNone.size());
  for (const ReportLine& line : report.lines) width = std::max(width, line.name.size());
  std::string out =
      fmt::format("{:<{}}  {:>9}  {:>12}  {:>12}  {:>12}  {:>12}  {:>12}\n", report.by, width,
                  "requests", "prompt", "cached", "completion", "cost", "saved");
  for (const ReportLine& line : report.lines)
    out += row_of(line.name.empty() ? kNone : std::string_view(line.name), line, width);
  for (const ReportLine& line : report.totals) out += row_of(kTotal, line, width);
  return report.shadows.empty() ? out : out + shadow_table(report.shadows);
}

}  // namespace signalbox::spending
