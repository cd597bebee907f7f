// Sums of the figures in /metrics, so that both agree. Amounts use the price at the time of each
// reply, even if it has changed since.

#include "router/admin/costs.h"

#include <chrono>
#include <cmath>
#include <map>

#include "base/json_writer.h"
#include "router/admin/query.h"
#include "router/spending/budgets.h"
#include "router/spending/report.h"

namespace signalbox::admin {
namespace {

using observe::Series;
using Amounts = std::map<std::string, double>;  // by currency

struct Line {
  double requests = 0, metered = 0;
  std::map<std::string, double> tokens;  // by kind
  Amounts cost, on_default;
};
/// By model and decision.
using Lines = std::map<std::pair<std::string, std::string>, Line>;

Lines lines_of(const observe::Metrics& metrics) {
  Lines out;
  const auto line = [&out](const Series& series) -> Line& {
    return out[{series.labels[0], series.labels[1]}];
  };
  for (const Series& each : metrics.requests.series()) line(each).requests += each.value;
  for (const Series& each : metrics.metered_replies.series()) line(each).metered += each.value;
  for (const Series& each : metrics.spent_tokens.series())
    line(each).tokens[each.labels[2]] += each.value;
  for (const Series& each : metrics.spent.series()) line(each).cost[each.labels[2]] += each.value;
  for (const Series& each : metrics.spent_on_default.series())
    line(each).on_default[each.labels[2]] += each.value;
  return out;
}

// Rounds to a billionth of a currency unit; digits beyond that are noise of binary fractions.
double rounded(double amount) {
  return std::round(amount * 1e9) / 1e9;
}

void write_amounts(json::Writer& out, std::string_view name, const Amounts& amounts) {
  out.key(name).begin_object();
  for (const auto& [currency, amount] : amounts) out.member(currency, rounded(amount));
  out.end_object();
}

void write_line(json::Writer& out, std::string_view model, std::string_view decision,
                const Line& line) {
  out.begin_object().member("model", model).member("decision", decision);
  out.member("requests", static_cast<int64_t>(line.requests));
  out.member("metered", static_cast<int64_t>(line.metered));
  out.key("tokens").begin_object();
  for (const auto& [kind, count] : line.tokens) out.member(kind, static_cast<int64_t>(count));
  out.end_object();
  write_amounts(out, "cost", line.cost);
  write_amounts(out, "cost_on_default", line.on_default);
  out.end_object();
}

// Writes savings only for currencies in which all spending has a comparison.
void write_totals(json::Writer& out, const Lines& lines) {
  Amounts cost, on_default;
  std::map<std::string, bool> comparable;
  for (const auto& [key, line] : lines) {
    for (const auto& [currency, amount] : line.cost) {
      cost[currency] += amount;
      const bool same = line.on_default.find(currency) != line.on_default.end();
      comparable.try_emplace(currency, true).first->second &= same;
    }
    for (const auto& [currency, amount] : line.on_default) {
      on_default[currency] += amount;
      const bool same = line.cost.find(currency) != line.cost.end();
      comparable.try_emplace(currency, true).first->second &= same;
    }
  }
  out.key("totals").begin_array();
  for (const auto& [currency, is_comparable] : comparable) {
    out.begin_object().member("currency", currency);
    out.member("cost", rounded(cost[currency]));
    out.member("cost_on_default", rounded(on_default[currency]));
    if (is_comparable) out.member("saved", rounded(on_default[currency] - cost[currency]));
    out.end_object();
  }
  out.end_array();
}

Result<spending::Day> day_of_query(const http::Request& request, std::string_view name,
                                   spending::Day without) {
  const std::string value = query_value(request.query(), name);
  if (value.empty()) return without;
  auto day = spending::parse_day(value);
  if (!day) return fail_in(name, std::move(day).error());
  return day;
}

// Reads the store and not the memory, so that the API and `signalbox report` agree.
Result<std::string> spending_report(const http::Request& request, spending::Ledger& ledger) {
  const std::string word = query_value(request.query(), "by");
  const auto by = spending::parse_group_by(word.empty() ? "key" : word);
  if (!by) return fail(Code::kInvalid, "by: expected key, user, group, model, decision or day");
  const spending::Day today = spending::day_of(std::chrono::system_clock::now());
  SIGNALBOX_TRY(const spending::Day first, day_of_query(request, "since", 0));
  SIGNALBOX_TRY(const spending::Day last, day_of_query(request, "until", today));
  // Return an error now, because a server that hangs would block all threads of the pool.
  if (ledger.is_common() && !ledger.counts().works)
    return fail(Code::kUpstream, "{}: the last exchange failed", ledger.store_name());
  SIGNALBOX_TRY_VOID(ledger.flush());
  SIGNALBOX_TRY(const auto source, ledger.source());
  SIGNALBOX_TRY(const spending::Report report, spending::sum_up(*source, *by, first, last));
  return spending::report_json(report);
}

AdminReply not_counted() {
  return AdminReply::of(
      {404, "NOT_FOUND", "spending is not counted: the configuration has no global.spending"});
}

}  // namespace

http::Route costs_route(const observe::Metrics& metrics, const serving::CurrentState& current,
                        http::ThreadPool& pool) {
  return management_route("GET", "/api/v1/costs", "metrics.read", current, pool,
                          [&metrics, since = std::chrono::system_clock::now()](
                              const http::Request&, const serving::ServingState& state) {
                            const Lines lines = lines_of(metrics);
                            json::Writer out;
                            out.begin_object().member("since", access::timestamp(since));
                            out.member("default_model", state.config().providers.default_model);
                            write_totals(out, lines);
                            out.key("lines").begin_array();
                            for (const auto& [key, line] : lines)
                              write_line(out, key.first, key.second, line);
                            return AdminReply{200, out.end_array().end_object().take()};
                          });
}

http::Route spending_route(std::function<spending::Ledger*()> find,
                           const serving::CurrentState& current, http::ThreadPool& pool) {
  return management_route(
      "GET", "/api/v1/spending", "metrics.read", current, pool,
      [find = std::move(find)](const http::Request& request, const serving::ServingState&) {
        spending::Ledger* const ledger = find();
        if (ledger == nullptr) return not_counted();
        const auto body = spending_report(request, *ledger);
        return body ? AdminReply{200, *body} : AdminReply::of(access::failure_of(body.error()));
      });
}

http::Route budgets_route(std::function<spending::Ledger*()> find,
                          const serving::CurrentState& current, http::ThreadPool& pool) {
  return management_route(
      "GET", "/api/v1/budgets", "metrics.read", current, pool,
      [find = std::move(find)](const http::Request&, const serving::ServingState& state) {
        const spending::Ledger* const ledger = find();
        const auto& settings = state.config().spending;
        if (ledger == nullptr || !settings) return not_counted();
        return AdminReply{200, spending::budgets_json(settings->budgets, *ledger,
                                                      std::chrono::system_clock::now())};
      });
}

}  // namespace signalbox::admin
