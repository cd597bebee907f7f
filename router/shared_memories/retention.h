#pragma once
// The lifetime of shared memories, which the scripts compute in the same way.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "router/shared_memories/record.h"

namespace signalbox::shared_memories {

inline constexpr double kDayMs = 86'400'000;
/// Memories of files with a very long lifetime are deleted after ten years without a use.
inline constexpr double kLifetimeMsMax = 3650 * kDayMs;

struct Retention {
  double strength_ms, weakness_max;

  explicit Retention(const memories::MemoryLimits& limits)
      : strength_ms(limits.strength_days * kDayMs), weakness_max(-std::log(limits.retention_min)) {}
  double lifetime_ms(uint32_t uses) const {
    return std::min(kLifetimeMsMax, (strength_ms + uses * kDayMs) * weakness_max);
  }
  memories::TimePoint end_of(const IndexEntry& entry) const {
    return entry.used + std::chrono::milliseconds(static_cast<int64_t>(lifetime_ms(entry.uses)));
  }
  std::vector<std::string> words() const {
    return {fmt::format("{:.0f}", strength_ms), fmt::format("{:.17g}", weakness_max),
            fmt::format("{:.0f}", kLifetimeMsMax)};
  }
};

}  // namespace signalbox::shared_memories
