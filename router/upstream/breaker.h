#pragma once
// Stops calling a server for a while after a few failures, so that requests do not wait for it one
// after the other.

#include <chrono>
#include <mutex>

namespace signalbox::upstream {

using TimePoint = std::chrono::steady_clock::time_point;

/// Thread-safe.
class Breaker {
 public:
  static constexpr int kFailuresMax = 3;
  static constexpr std::chrono::milliseconds kPause{1000};

  /// Returns true if the server may be called now. After a pause it allows one call at a time until
  /// one succeeds.
  bool allows(TimePoint now);
  /// Records whether a call succeeded. Returns true if the server's state changed between working
  /// and failing.
  bool tell(bool success, TimePoint now);

 private:
  std::mutex mutex_;
  int failures_ = 0;
  TimePoint retry_at_ = {};
};

}  // namespace signalbox::upstream
