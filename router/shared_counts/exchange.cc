// Numbers are written with 17 digits, so that reading them gives exactly the same value.

#include "router/shared_counts/exchange.h"

#include <fmt/format.h>

#include <string>

namespace signalbox::shared_counts {
namespace {

/// Two days after the period, because clocks differ.
std::string expiry_of(const spending::TotalKey& key) {
  constexpr int64_t kSecondsADay = 86'400;
  return std::to_string((spending::next_after(key.per, key.begin) + 2) * kSecondsADay);
}

}  // namespace

Words call_of(std::string_view script, const std::string& prefix) {
  return {"EVAL", std::string(script), "1", prefix};
}

void add_totals(const std::vector<spending::SharedTotal>& totals, Words& to) {
  for (const spending::SharedTotal& each : totals) {
    to.push_back(name_of(each.key));
    to.push_back(expiry_of(each.key));
    to.push_back(fmt::format("{:.17g}", each.own));
  }
}

void add_uses(const std::vector<limits::BucketUse>& uses, Words& to) {
  for (const auto& [level, requests, tokens, may_be_lost] : uses) {
    to.push_back(level.name);
    to.push_back(std::to_string(level.requests_per_unit));
    to.push_back(std::to_string(level.tokens_per_unit));
    to.push_back(std::to_string(level.unit.count()));
    for (const double amount : {requests, tokens, level.requests, level.tokens})
      to.push_back(fmt::format("{:.17g}", amount));
    to.push_back(may_be_lost ? "1" : "0");
  }
}

}  // namespace signalbox::shared_counts
