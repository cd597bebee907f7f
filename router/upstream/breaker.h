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
  /// one succeeds. `limit` is the greatest time of a call: nobody else calls until it has ended.
  bool allows(TimePoint now, std::chrono::milliseconds limit = kPause);
  /// Records whether a call succeeded. Returns true if the server's state changed between working
  /// and failing.
  bool record(bool success, TimePoint now);
  /// Records that a call was given up, so that another may be made instead.
  void give_up(TimePoint now);

 private:
  std::mutex mutex_;
  int failures_ = 0;
  TimePoint retry_at_ = {};
};

}  // namespace signalbox::upstream
