#pragma once
// Buckets of rate limits as several routers share them.

#include <chrono>
#include <cstdint>
#include <string>

namespace signalbox::limits {

/// The used part of a bucket. More than a unit's worth may be used.
struct BucketLevel {
  std::string name;  // of the rule and the user
  uint64_t requests_per_unit = 0, tokens_per_unit = 0;
  std::chrono::seconds unit{60};
  double requests = 0, tokens = 0;  // used, and not yet refilled
};

/// The use of a bucket that this router has not reported yet.
struct BucketUse {
  BucketLevel level;  // with this use, and what is known of the uses of other routers
  double requests = 0, tokens = 0;
  bool may_be_lost = false;  // the common level may be older than `level`
};

}  // namespace signalbox::limits
