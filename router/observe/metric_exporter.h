#pragma once
// Exports all metrics at an interval, on a thread of its own. The figures are cumulative, so only
// the newest ones matter: nothing is queued beside the collection in hand, and an export that fails
// is repeated only until the next one is due.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "router/observe/courier.h"
#include "router/observe/otlp.h"

namespace signalbox::observe {

/// Where metrics go, and how often.
struct MetricTarget {
  Send send = nullptr;  // null: nowhere
  Resource resource = {};
  std::chrono::milliseconds interval{60'000};
};

/// Thread-safe.
class MetricExporter {
 public:
  using Collect = std::function<Collection()>;  // called on the exporter's thread

  /// After stop(), new attempts begin only within `end_max`. That time starts with the attempt in
  /// progress, if there is one.
  MetricExporter(Collect collect, ExportCounters counters, RetryOptions retry = {},
                 std::chrono::milliseconds end_max = std::chrono::milliseconds(4'000));
  ~MetricExporter() { stop(); }

  /// Sets the target of the exports that follow. The export in progress is no longer retried. After
  /// stop() it has no effect and returns false.
  bool set_target(MetricTarget target);
  /// Sends the current figures once and ends the thread. Sends nothing if the attempt in progress
  /// takes `end_max`. One thread at a time may call it.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool wait_until_due(MetricTarget& out);
  void send_all(const MetricTarget& target, bool ends);
  bool may_begin(bool ends);
  Delivery attempt(const Send& send, const std::string& body);
  bool wait(std::chrono::milliseconds pause, std::chrono::milliseconds interval);

  const Collect collect_;
  const RetryOptions retry_;
  const std::chrono::milliseconds end_max_;
  Counter& failed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  MetricTarget target_;
  bool has_new_target_ = false;  // the thread has not taken it yet
  bool stopping_ = false;
  std::optional<Clock::time_point> attempt_began_;  // of the attempt in progress
  Clock::time_point end_;                           // no attempt begins later; if stopping
  // Used by the thread only:
  Courier courier_;
  Clock::time_point last_;        // when the last export began
  Clock::time_point not_before_;  // the collector requested a pause until then

  std::thread thread_;  // begins with the first target
};

}  // namespace signalbox::observe
