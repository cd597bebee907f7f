#pragma once
// Limits how often a user may send requests, by rules of the configuration: buckets behind a lock.

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "router/limits/buckets.h"

namespace signalbox::limits {

/// Thread-safe. It outlives configurations. The methods are those of Buckets.
class RateLimiter {
 public:
  explicit RateLimiter(size_t buckets_max = 100'000) : buckets_(buckets_max) {}

  std::optional<RateRefusal> admit(const config::RateLimit& limit, const Requester& requester,
                                   TimePoint now) {
    const std::lock_guard lock(mutex_);
    return buckets_.admit(limit, requester, now);
  }
  void charge(const config::RateLimit& limit, const Requester& requester, uint64_t tokens,
              TimePoint now) {
    const std::lock_guard lock(mutex_);
    buckets_.charge(limit, requester, tokens, now);
  }

  void share() {
    const std::lock_guard lock(mutex_);
    buckets_.share();
  }
  std::vector<BucketUse> take_uses(size_t max, TimePoint now) {
    const std::lock_guard lock(mutex_);
    return buckets_.take_uses(max, now);
  }
  void confirm_uses() {
    const std::lock_guard lock(mutex_);
    buckets_.confirm_uses();
  }
  void set_levels(std::span<const BucketLevel> levels, TimePoint at, TimePoint now) {
    const std::lock_guard lock(mutex_);
    buckets_.set_levels(levels, at, now);
  }
  void report_all(TimePoint now) {
    const std::lock_guard lock(mutex_);
    buckets_.report_all(now);
  }
  size_t unconfirmed() const {
    const std::lock_guard lock(mutex_);
    return buckets_.unconfirmed();
  }

 private:
  mutable std::mutex mutex_;
  Buckets buckets_;
};

}  // namespace signalbox::limits
