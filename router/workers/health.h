#pragma once
// Whether one worker is fit to be asked: what checks say of it, and what its own answers do. Pure:
// time is a parameter.

#include <chrono>

#include "router/config/providers.h"

namespace signalbox::workers {

using TimePoint = std::chrono::steady_clock::time_point;

/// An ejection is never longer than this, however many came before.
inline constexpr std::chrono::minutes kEjectionMax{5};

/// Not thread-safe. A worker begins as fit.
class Health {
 public:
  /// A check has passed or failed. True when that changes whether it is healthy.
  bool checked(bool passed, const config::Reliability& settings);
  /// A call was answered or failed. True when it has failed so often in a row that it should be
  /// ejected.
  bool called(bool answered, const config::Reliability& settings);
  /// Leaves it out for `base`, for twice that when it comes soon after the last time, and so on.
  /// Once it is back, a single failure is enough.
  void eject(TimePoint now, const config::Reliability& settings);

  bool healthy() const { return healthy_; }
  bool ejected(TimePoint now) const { return now < ejected_until_; }
  bool fit(TimePoint now) const { return healthy_ && !ejected(now); }

 private:
  bool healthy_ = true;
  uint32_t contrary_ = 0;  // checks in a row that say otherwise
  uint32_t failures_ = 0;  // calls in a row
  TimePoint ejected_until_{};
  std::chrono::milliseconds ejected_for_{0};
};

}  // namespace signalbox::workers
