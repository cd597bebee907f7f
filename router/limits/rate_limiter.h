#pragma once
// Limits how often a user may send requests, by rules of the configuration. Each rule and user has
// a bucket, which holds one time unit's worth of requests and of tokens and refills over time. It
// uses no socket and no clock.

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/config/services.h"

namespace signalbox::limits {

using TimePoint = std::chrono::steady_clock::time_point;

/// The client, and the model that it is about to use. Users without a name count as one user.
struct Requester {
  std::string user;
  std::string groups;      // separated by commas
  std::string model = {};  // "": no model is chosen yet
};

struct RateRefusal {
  std::string message;            // for the client
  std::chrono::seconds retry{1};  // when to try again, at least 1 s
};

/// Thread-safe. It outlives configurations: an unchanged rule goes on counting.
class RateLimiter {
 public:
  explicit RateLimiter(size_t buckets_max = 100'000) : buckets_max_(buckets_max) {}

  /// Counts a request against every rule about the requester, or returns the refusal and counts it
  /// against none. Without a model, only rules that name no model count; with one, only rules that
  /// name it: a request is admitted first without and then with each model that is tried for it.
  std::optional<RateRefusal> admit(const config::RateLimit& limit, const Requester& requester,
                                   TimePoint now);

  /// Charges the tokens that an admitted request has read and written to every rule about it, with
  /// a model or without. A bucket may go into debt.
  void charge(const config::RateLimit& limit, const Requester& requester, uint64_t tokens,
              TimePoint now);

 private:
  struct Bucket {
    config::RateLimit::Rule rule;
    double requests, tokens;  // remaining
    TimePoint at;

    void fill(TimePoint now);
    bool is_full() const;
  };
  using Key = std::pair<std::string, std::string>;  // of the rule and of the user

  Bucket* find(const config::RateLimit::Rule& rule, const std::string& user, TimePoint now);
  void drop_full(TimePoint now);

  const size_t buckets_max_;
  std::mutex mutex_;
  std::map<Key, Bucket> buckets_;
  TimePoint dropped_{};  // when full buckets were last searched for
};

}  // namespace signalbox::limits
