// A score above the threshold explains no miss: an intent may have every vote and still fail
// because no example is near enough.

#include "router/routing/near_miss.h"

#include <fmt/core.h>

#include <algorithm>

namespace signalbox::routing {

std::string format_value(double value) {
  const auto whole = static_cast<int64_t>(value);
  return static_cast<double>(whole) == value ? fmt::format("{}", whole)
                                             : fmt::format("{:.2f}", value);
}

std::optional<double> nearest_similarity(const TypeReport& type, uint32_t signal) {
  std::optional<double> nearest;
  for (const signals::Evidence& evidence : type.evidence) {
    if (evidence.signal == signal) nearest = std::max(nearest.value_or(-1), evidence.score);
  }
  return nearest;
}

std::string describe_near_miss(const TypeReport& type, uint32_t signal) {
  const double score = type.readings[signal].score;
  std::string out = format_value(score);
  if (const auto threshold = type.signals->threshold(signal); threshold && score < *threshold)
    return fmt::format("{} < {}", out, format_value(*threshold));
  const auto least = type.signals->least_similarity(signal);
  const auto nearest = nearest_similarity(type, signal);
  if (!least || !nearest || *nearest >= *least) return out;
  return fmt::format("{} (similarity {} < {})", out, format_value(*nearest), format_value(*least));
}

}  // namespace signalbox::routing
