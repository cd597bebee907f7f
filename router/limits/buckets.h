#pragma once
// The buckets of rate limits. Each rule and user has a bucket, which holds one time unit's worth of
// requests and of tokens and refills over time. Several routers may share buckets: each counts in
// its own, reports what it has used, and learns the common level (router/shared_counts). A plain
// value without lock and clock, so that a test can explore every order of events.

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/config/services.h"
#include "router/limits/bucket_level.h"

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

/// An unchanged rule of another configuration goes on counting.
class Buckets {
 public:
  explicit Buckets(size_t buckets_max) : buckets_max_(buckets_max) {}

  /// Counts a request against every rule about the requester, or returns the refusal and counts it
  /// against none. Without a model, only rules that name no model count; with one, only rules that
  /// name it: a request is admitted first without and then with each model that is tried for it.
  std::optional<RateRefusal> admit(const config::RateLimit& limit, const Requester& requester,
                                   TimePoint now);

  /// Charges the tokens that an admitted request has read and written to every rule about it, with
  /// a model or without. A bucket may go into debt.
  void charge(const config::RateLimit& limit, const Requester& requester, uint64_t tokens,
              TimePoint now);

  /// From now on, uses are noted for take_uses().
  void share();
  /// Returns the uses of at most `max` buckets. Until confirm_uses() it returns the same buckets
  /// again, with the same uses, less what has been refilled.
  std::vector<BucketUse> take_uses(size_t max, TimePoint now);
  void confirm_uses();
  /// Sets buckets to the levels that the routers had together at the time `at`. Uses that are not
  /// confirmed are counted on top of them.
  void set_levels(std::span<const BucketLevel> levels, TimePoint at, TimePoint now);
  /// Makes take_uses() return every bucket that is not full, because the levels may be lost. Until
  /// confirm_uses(), set_levels() does not lower them.
  void report_all(TimePoint now);
  /// The number of buckets with uses that are not confirmed.
  size_t unconfirmed() const;

 private:
  struct Amounts {
    double requests = 0, tokens = 0;
  };
  struct Bucket {
    config::RateLimit::Rule rule;
    double requests, tokens;  // remaining
    TimePoint at;
    Amounts unsent = {}, sent = {};  // if buckets are shared
    bool is_noted = false;           // the name is in changed_
    bool may_be_lost = false;        // the others may have an older level

    void fill(TimePoint now);
    bool is_full() const;
  };
  using Entry = std::map<std::string, Bucket>::value_type;

  Entry* find(const config::RateLimit::Rule& rule, const std::string& user, TimePoint now);
  void drop_full(TimePoint now);
  void use(Entry& entry, Amounts amounts);
  void note(Entry& entry);

  size_t buckets_max_;
  std::map<std::string, Bucket> buckets_;  // by the rule and the user
  TimePoint dropped_{};                    // when full buckets were last searched for
  bool shares_ = false;
  std::vector<std::string> changed_, sending_;  // names of buckets
};

}  // namespace signalbox::limits
