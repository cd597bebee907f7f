#pragma once
// Shares the counts of rate limits and budgets among routers, over Redis. A thread exchanges them:
// it reports what this router has counted and learns what the others have. Requests are admitted by
// what is in memory, so none waits for Redis. While Redis is away, each router goes on counting by
// itself, and reports what it has counted as soon as Redis is back.
//
// A count is reported within 5 ms, and every router learns of it within 25 ms. So for
// 30 ms the routers may admit requests beyond a limit. The bucket then goes into debt, and its
// users wait until the debt is refilled.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "router/config/config.h"
#include "router/limits/rate_limiter.h"
#include "router/shared_counts/exchange.h"
#include "router/spending/ledger.h"
#include "router/stores/redis.h"

namespace signalbox::shared_counts {

struct Options {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:counts:";
  std::chrono::milliseconds limit{500};  // for an exchange
};

/// Thread-safe.
class SharedCounts {
 public:
  /// Connects, and reads what the routers have counted so far. If Redis does not answer, this is
  /// logged and tried again later. `limiter` and `ledger` outlive this. `ledger` may be
  /// null. Errors: those of redis_server(), with the key in the file, and those of the ledger's
  /// file.
  static Result<std::unique_ptr<SharedCounts>> open(const config::Config& config,
                                                    limits::RateLimiter& limiter,
                                                    spending::Ledger* ledger);
  /// Reports what is not reported yet, if Redis answers.
  ~SharedCounts();

  /// Sets which totals are shared: those of the budgets in the file.
  void configure(const config::Config& config);

  struct Stats {
    bool works = false;                  // the last exchange succeeded
    uint64_t succeeded = 0, failed = 0;  // exchanges
    uint64_t unreported = 0;             // totals and buckets
    uint64_t routers = 1;                // that share the counts, with this one
  };
  Stats stats() const;

 private:
  using Clock = std::chrono::steady_clock;
  SharedCounts(Options options, limits::RateLimiter& limiter, spending::Ledger* ledger);

  void run();
  uint64_t unreported() const;
  /// Returns whether there is more to read or to report at once.
  Result<bool> exchange();
  Words greeting() const;
  Result<void> apply_routers(const stores::RedisValue& reply);
  void leave_same_ledger(const std::vector<Peer>& peers);
  /// Exchanges until there is nothing more, or the time is over.
  bool exchange_all(Clock::time_point until);
  void log_change(const Result<bool>& exchanged);

  Options options_;
  const int64_t started_;  // microseconds since 1970
  limits::RateLimiter& limiter_;
  spending::Ledger* const ledger_;
  stores::Redis redis_;

  // These belong to the thread that exchanges.
  Exchange exchange_;
  bool failed_ = false;
  std::string failure_;
  Clock::time_point greet_at_{};            // when routers_script() runs next
  int same_ledger_ = 0, other_limits_ = 0;  // how often a peer had the same ledger, other limits
  std::string warned_of_;                   // the digest of those limits

  std::atomic<bool> has_new_totals_ = false;  // since a new configuration

  mutable std::mutex mutex_;  // guards the rest
  std::string digest_;        // of budgets and rate limits
  Stats stats_;
  bool stopping_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace signalbox::shared_counts
