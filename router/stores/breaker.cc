// Failures in a row, and the time before which nobody asks.

#include "router/stores/breaker.h"

#include <algorithm>

namespace signalbox::stores {

bool Breaker::allows(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (failures_ < kFailuresMax) return true;
  if (now < again_) return false;
  again_ = now + kPause;  // this one finds out
  return true;
}

bool Breaker::tell(bool well, TimePoint now) {
  const std::lock_guard lock(mutex_);
  const bool before = failures_ < kFailuresMax;
  failures_ = well ? 0 : std::min(failures_ + 1, kFailuresMax);
  if (!well) again_ = now + kPause;
  return before != (failures_ < kFailuresMax);
}

}  // namespace signalbox::stores
