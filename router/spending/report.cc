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

Result<Report> sum_up(Database& database, GroupBy by, Day first, Day last) {
  std::map<std::pair<std::string, std::string>, Spent> lines;
  std::map<std::string, Spent> totals;
  SIGNALBOX_TRY_VOID(database.each(first, last, [&](const Account& account, const Spent& spent) {
    for (std::string& name : line_names(account, by))
      lines[{std::move(name), account.currency}] += spent;
    totals[account.currency] += spent;
  }));
  Report out;
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
  return out;
}

}  // namespace signalbox::spending
