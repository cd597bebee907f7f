// Checks and ejections are independent: a passed check does not end an ejection, because a server
// that answers its health path may fail at everything else.

#include "router/workers/health.h"

#include <algorithm>

namespace signalbox::workers {

bool Health::checked(bool passed, const config::Reliability& settings) {
  if (passed == healthy_) {
    contrary_ = 0;
    return false;
  }
  const uint32_t enough = passed ? settings.healthy_threshold : settings.unhealthy_threshold;
  if (++contrary_ < enough) return false;
  healthy_ = passed;
  contrary_ = 0;
  return true;
}

bool Health::called(bool answered, const config::Reliability& settings) {
  failures_ = answered ? 0 : failures_ + 1;
  return settings.consecutive_5xx > 0 && failures_ >= settings.consecutive_5xx;
}

void Health::eject(TimePoint now, const config::Reliability& settings) {
  const std::chrono::milliseconds longest(kEjectionMax);
  const bool repeated = ejected_for_.count() > 0 && now - ejected_until_ < 2 * ejected_for_;
  ejected_for_ = repeated ? 2 * ejected_for_ : settings.base_ejection_time;
  ejected_for_ = std::min(ejected_for_, std::max(longest, settings.base_ejection_time));
  ejected_until_ = now + ejected_for_;
  failures_ = settings.consecutive_5xx - 1;
}

}  // namespace signalbox::workers
