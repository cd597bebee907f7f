// Reads the file and not the memory, so that the API and `signalbox report` agree.

#include "router/admin/spending.h"

#include <chrono>

#include "router/admin/query.h"
#include "router/spending/report.h"

namespace signalbox::admin {
namespace {

Result<spending::Day> day_parameter(const http::Request& request, std::string_view name,
                                    spending::Day without) {
  const std::string value = query_value(request.query(), name);
  if (value.empty()) return without;
  auto day = spending::parse_day(value);
  if (!day) return fail_in(name, std::move(day).error());
  return day;
}

Result<std::string> report_of(const http::Request& request, spending::Ledger& ledger) {
  const std::string word = query_value(request.query(), "by");
  const auto by = spending::parse_group_by(word.empty() ? "key" : word);
  if (!by) return fail(Code::kInvalid, "by: expected key, user, group, model, decision or day");
  const spending::Day today = spending::day_of(std::chrono::system_clock::now());
  SIGNALBOX_TRY(const spending::Day first, day_parameter(request, "since", 0));
  SIGNALBOX_TRY(const spending::Day last, day_parameter(request, "until", today));
  SIGNALBOX_TRY_VOID(ledger.flush());
  SIGNALBOX_TRY(spending::Database database, spending::Database::open(ledger.file(), true));
  SIGNALBOX_TRY(const spending::Report report, spending::sum_up(database, *by, first, last));
  return spending::report_json(report);
}

}  // namespace

http::Route spending_route(std::function<spending::Ledger*()> find,
                           const serving::CurrentState& current, http::ThreadPool& pool) {
  return management_route(
      "GET", "/api/v1/spending", "metrics.read", current, pool,
      [find = std::move(find)](const http::Request& request, const serving::ServingState&) {
        spending::Ledger* const ledger = find();
        if (ledger == nullptr) {
          return AdminReply::of({404, "NOT_FOUND",
                                 "spending is not counted: the configuration has no "
                                 "global.spending"});
        }
        const auto body = report_of(request, *ledger);
        return body ? AdminReply{200, *body} : AdminReply::of(access::failure_of(body.error()));
      });
}

}  // namespace signalbox::admin
