#pragma once
// The state of one router's exchanges with Redis, and the effect of each result. It has no socket,
// lock or clock, so that a test can explore every order of events. Limiter and Totals are
// limits::RateLimiter and spending::Ledger, or the plain values in them.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/limits/bucket_level.h"
#include "router/shared_counts/readings.h"
#include "router/shared_counts/scripts.h"
#include "router/spending/totals.h"

namespace signalbox::shared_counts {

using Words = std::vector<std::string>;
Words call_of(std::string_view script, const std::string& prefix);
void add_totals(const std::vector<spending::SharedTotal>& totals, Words& to);
void add_uses(const std::vector<limits::BucketUse>& uses, Words& to);

/// The commands of one exchange.
struct Report {
  Words buckets, totals;  // `totals` is empty without a ledger
  std::vector<spending::SharedTotal> taken;
  std::chrono::steady_clock::time_point sent_at;
};

/// A plain value. For one thread at a time, and one exchange at a time.
class Exchange {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// The most changes in one exchange. More would block the server for too long.
  static constexpr size_t kReportedMax = 512;

  struct Known {
    std::string totals_epoch = {}, totals_cursor = "0", buckets_epoch = {}, buckets_cursor = "0";
    uint64_t batch = 1;
    uint64_t connections = 0;
    bool adopts = true;               // takes over the earlier spending of this router from Redis
    bool reports_everything = false;  // everything must be reported again
  };

  Exchange(std::string prefix, std::string router, std::string ledger)
      : prefix_(std::move(prefix)), router_(std::move(router)), ledger_(std::move(ledger)) {}

  const std::string& router() const { return router_; }
  const std::string& ledger() const { return ledger_; }
  /// Changes the name of this router's totals.
  void set_ledger(std::string name) {
    ledger_ = std::move(name);
    read_all_totals();
  }
  void read_all_totals() { known_.totals_cursor = "0"; }
  const Known& known() const { return known_; }

  /// Begins an exchange. `connections` counts those that were made to Redis so far. A null `totals`
  /// counts nothing.
  template <class Limiter, class Totals>
  Report begin(Limiter& limiter, Totals* totals, uint64_t connections, TimePoint now) {
    if (connections != known_.connections && !std::exchange(known_.reports_everything, true)) {
      limiter.report_all(now);
      if (totals != nullptr) totals->report_all();
      // Read everything, because the cursors come from a clock, and the clock of another server may
      // be behind.
      known_.totals_cursor = known_.buckets_cursor = "0";
    }
    Report out{call_of(buckets_script(), prefix_), {}, {}, now};
    out.buckets.insert(out.buckets.end(),
                       {router_, std::to_string(known_.batch), known_.buckets_cursor});
    add_uses(limiter.take_uses(kReportedMax, now), out.buckets);
    if (totals == nullptr) return out;
    out.totals = call_of(totals_script(), prefix_);
    out.totals.insert(out.totals.end(), {ledger_, known_.totals_cursor});
    // Do not report yet: a report would replace the earlier spending of this router in Redis.
    if (!known_.adopts) out.taken = totals->take_changes(kReportedMax);
    add_totals(out.taken, out.totals);
    return out;
  }

  /// Call it if no reply came.
  template <class Totals>
  void fail(Totals* totals, const Report& report) {
    if (totals != nullptr) totals->put_back(report.taken);
  }

  /// Takes the replies to a report, in the order of its commands. Returns whether there is more to
  /// read or to report at once.
  template <class Limiter, class Totals>
  Result<bool> finish(Limiter& limiter, Totals* totals, const Report& report,
                      const std::vector<stores::RedisValue>& replies, uint64_t connections,
                      TimePoint now) {
    limiter.confirm_uses();
    ++known_.batch;
    // The server behind a new connection may have been restored from an older state. Report ours
    // before reading its levels.
    if (connections != known_.connections && !known_.reports_everything) return true;
    known_.reports_everything = false;
    known_.connections = connections;
    SIGNALBOX_TRY(bool more, apply_buckets(limiter, replies[0], report.sent_at, now));
    if (totals != nullptr) {
      SIGNALBOX_TRY(const bool more_totals, apply_totals(*totals, replies[1]));
      more = more || more_totals || totals->unreported() > 0;
    }
    return more;
  }

 private:
  template <class Limiter>
  Result<bool> apply_buckets(Limiter& limiter, const stores::RedisValue& reply, TimePoint sent_at,
                             TimePoint now) {
    SIGNALBOX_TRY(const auto read, read_buckets(reply));
    const bool is_new = read.epoch != std::exchange(known_.buckets_epoch, read.epoch);
    if (is_new) limiter.report_all(now);
    limiter.set_levels(read.entries, sent_at, now);
    known_.buckets_cursor = is_new ? "0" : read.cursor;
    return is_new || read.size == kEntriesMax;
  }

  template <class Totals>
  Result<bool> apply_totals(Totals& totals, const stores::RedisValue& reply) {
    SIGNALBOX_TRY(const auto read, read_totals(reply));
    totals.set_others(read.entries, known_.adopts);
    const bool is_new = read.epoch != std::exchange(known_.totals_epoch, read.epoch);
    known_.totals_cursor = is_new ? "0" : read.cursor;
    if (is_new) totals.report_all();
    const bool more = is_new || read.size == kEntriesMax;
    if (!more) known_.adopts = false;
    return more;
  }

  std::string prefix_, router_, ledger_;
  Known known_;
};

}  // namespace signalbox::shared_counts
