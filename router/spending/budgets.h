#pragma once
// Compares what was spent with the budgets of the configuration.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/spending/ledger.h"

namespace signalbox::spending {

/// The client that is about to spend; "": none.
struct Spender {
  std::string_view key, user, groups;
};

/// The budget that matters most for a request.
struct Finding {
  enum class Action : uint8_t { kWarn, kCheaper, kRefuse };
  Action action = Action::kWarn;
  std::string budget;  // its name
  std::string name;    // of the key, user or group
  double spent = 0, amount = 0;
  std::string currency;
  std::chrono::seconds renewal{0};  // until the next period
  std::string renewed_at;           // "2026-02-01T00:00:00Z"
};

/// Returns the finding with the strongest action, or nullopt if no budget is near its end. Requests
/// in flight are not counted, so a budget may be exceeded by what they cost.
std::optional<Finding> judge(const std::vector<Budget>& budgets, const Ledger& ledger,
                             const Spender& spender, std::chrono::system_clock::time_point now);

/// Writes the rest of all budgets as JSON: {"budgets": [{"name", "by", "amount", "currency", "per",
/// "then", "warn_at", "renewed", "spenders": [{"name", "spent", "state"}], "further": N}]}. The
/// state is "fine", "warned" or "exceeded". A budget has at most a hundred spenders, those that
/// have spent most; `further` is the number of the others.
std::string budgets_json(const std::vector<Budget>& budgets, const Ledger& ledger,
                         std::chrono::system_clock::time_point now);

/// Returns the value of x-vsr-budget: "team; of=research; spent=8.10; amount=10.00; currency=USD;
/// renewed=2026-02-01T00:00:00Z".
std::string header_of(const Finding& finding);

}  // namespace signalbox::spending
