// A model that fails several times is named once, with its last failure.

#include "router/looper/outcomes.h"

#include <algorithm>

namespace signalbox::looper {

tl::unexpected<Error> failed(std::span<const Turn> turns) {
  Code code = Code::kUpstream;
  std::vector<std::pair<std::string_view, std::string_view>> reasons;
  for (const Turn& turn : turns) {
    if (!turn.is_done() || turn.outcome) continue;
    const Error& error = turn.outcome.error();
    const bool tells = error.code == Code::kDeadline || error.code == Code::kOverloaded;
    code = tells ? error.code : Code::kUpstream;
    const auto same = std::find_if(reasons.begin(), reasons.end(), [&turn](const auto& each) {
      return each.first == turn.call.model;
    });
    if (same != reasons.end()) reasons.erase(same);
    reasons.emplace_back(turn.call.model, error.message);
  }
  std::string all;
  for (const auto& [model, why] : reasons)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", model, why);
  return fail(code, "too few models answered{}{}", all.empty() ? "" : ": ", all);
}

std::vector<size_t> replied(std::span<const Turn> turns) {
  std::vector<size_t> out;
  for (size_t i = 0; i < turns.size(); ++i) {
    const Reply* reply = turns[i].reply();
    if (reply != nullptr && !reply->is_empty()) out.push_back(i);
  }
  return out;
}

bool any_failed(std::span<const Turn> turns) {
  return std::any_of(turns.begin(), turns.end(), [](const Turn& turn) {
    return turn.is_done() && !turn.outcome && turn.outcome.error().code != Code::kCancelled;
  });
}

bool all_done(std::span<const Turn> turns) {
  return std::all_of(turns.begin(), turns.end(), [](const Turn& turn) { return turn.is_done(); });
}

}  // namespace signalbox::looper
