// Counts failures in a row and remembers the time of the next attempt.

#include "router/upstream/breaker.h"

#include <algorithm>

namespace signalbox::upstream {

bool Breaker::allows(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (failures_ < kFailuresMax) return true;
  if (now < retry_at_) return false;
  retry_at_ = now + kPause;  // this call is the one attempt after the pause
  return true;
}

bool Breaker::tell(bool success, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const bool before = failures_ < kFailuresMax;
  failures_ = success ? 0 : std::min(failures_ + 1, kFailuresMax);
  if (!success) retry_at_ = now + kPause;
  return before != (failures_ < kFailuresMax);
}

}  // namespace signalbox::upstream
