#pragma once
// Sums of the spending by key, user, group, model, decision or day.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/spending/store.h"

namespace signalbox::spending {

enum class GroupBy : uint8_t { kKey, kUser, kGroup, kModel, kDecision, kDay };
/// "key", "user", "group", "model", "decision" or "day"; nullopt for other words.
std::optional<GroupBy> parse_group_by(std::string_view word);

struct ReportLine {
  std::string name;      // "": requests that have none
  std::string currency;  // "": of models without a price
  Spent spent;
};

/// The sum of the pairs of one decision and two models.
struct ShadowLine {
  ShadowAccount of;  // the day has no meaning
  ShadowSpent spent;
};

struct Report {
  std::string by;
  std::vector<ReportLine> lines;    // by name
  std::vector<ReportLine> totals;   // one for each currency
  std::vector<ShadowLine> shadows;  // not a part of the totals
};

/// Sums up the days from `first` to `last`. Requests of a user with several groups count for each
/// of them, but once in the totals. Errors: those of Source.
Result<Report> sum_up(Source& source, GroupBy by, Day first, Day last);

/// "2026-01-31", or an error. Errors: kInvalid.
Result<Day> parse_day(std::string_view text);
std::string text_of(Day day);

/// `saved` is what the same tokens would have cost more on the most expensive model.
std::string report_json(const Report& report);
/// A table for people.
std::string report_text(const Report& report);

}  // namespace signalbox::spending
