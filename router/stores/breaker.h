#pragma once
// When a server has failed a few times it is left alone for a while, so that requests do not wait
// for it one after the other.

#include <chrono>
#include <mutex>

namespace signalbox::stores {

using TimePoint = std::chrono::steady_clock::time_point;

/// Thread-safe.
class Breaker {
 public:
  static constexpr int kFailuresMax = 3;
  static constexpr std::chrono::milliseconds kPause{1000};

  /// Whether to ask now; after a pause, one at a time until one succeeds.
  bool allows(TimePoint now);
  /// How it went; true when that changes whether the server counts as well.
  bool tell(bool well, TimePoint now);

 private:
  std::mutex mutex_;
  int failures_ = 0;
  TimePoint again_ = {};
};

}  // namespace signalbox::stores
