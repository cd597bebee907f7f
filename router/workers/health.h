#pragma once
// Decides whether a worker is fit, from health checks and from the outcome of its calls. Pure: time
// is a parameter.

#include <chrono>

#include "router/config/providers.h"

namespace signalbox::workers {

using TimePoint = std::chrono::steady_clock::time_point;

/// The longest ejection, however many came before.
inline constexpr std::chrono::minutes kEjectionMax{5};

/// Not thread-safe. A worker begins as fit.
class Health {
 public:
  /// Records the result of a check. Returns true if the worker's health changed.
  bool checked(bool passed, const config::Reliability& settings);
  /// Records the outcome of a call. Returns true if enough calls in a row have failed to
  /// eject the worker.
  bool called(bool answered, const config::Reliability& settings);
  /// Ejects the worker for base_ejection_time. An ejection that follows soon after the last one
  /// lasts twice as long as that one. After the worker's return, a single failure is enough to
  /// eject it again.
  void eject(TimePoint now, const config::Reliability& settings);
  /// Ends the ejection.
  void readmit(TimePoint now) { ejected_until_ = now; }

  bool healthy() const { return healthy_; }
  /// Its last call has failed.
  bool failing() const { return failures_ > 0; }
  bool ejected(TimePoint now) const { return now < ejected_until_; }
  bool fit(TimePoint now) const { return healthy_ && !ejected(now); }

 private:
  bool healthy_ = true;
  uint32_t contrary_ = 0;  // checks in a row that contradict healthy_
  uint32_t failures_ = 0;  // failed calls in a row
  TimePoint ejected_until_{};
  std::chrono::milliseconds ejected_for_{0};
};

}  // namespace signalbox::workers
