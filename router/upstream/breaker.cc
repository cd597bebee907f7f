// Counts failures in a row and remembers the time of the next attempt.

#include "router/upstream/breaker.h"

#include <algorithm>

namespace signalbox::upstream {

bool Breaker::allows(TimePoint now, std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  if (failures_ < kFailuresMax) return true;
  if (now < retry_at_) return false;
  retry_at_ = now + std::max(kPause, limit);  // this call is the one attempt after the pause
  return true;
}

bool Breaker::record(bool success, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const bool before = failures_ < kFailuresMax;
  failures_ = success ? 0 : std::min(failures_ + 1, kFailuresMax);
  if (!success) retry_at_ = now + kPause;
  return before != (failures_ < kFailuresMax);
}

void Breaker::give_up(TimePoint now) {
  const std::lock_guard lock(mutex_);
  retry_at_ = std::min(retry_at_, now + kPause);
}

}  // namespace signalbox::upstream
