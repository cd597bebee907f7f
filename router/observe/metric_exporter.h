#pragma once
// Exports all metrics at an interval, on a thread of its own. The figures are cumulative, so only
// the newest ones matter: nothing is queued beside the collection in hand, and an export that fails
// is repeated at most until the next one is due.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
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

  MetricExporter(Collect collect, ExportCounters counters, RetryOptions retry = {});
  ~MetricExporter() { stop(); }

  /// Holds for the exports that follow. Has no effect after stop().
  void set_target(MetricTarget target);
  /// Sends the figures of now once, and ends. One thread at a time may call it.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool wait_until_due(Clock::time_point& last, MetricTarget& out);
  void send_all(const MetricTarget& target);
  bool wait(std::chrono::milliseconds pause);

  const Collect collect_;
  const RetryOptions retry_;
  Counter& failed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  MetricTarget target_;
  bool stopping_ = false;
  Courier courier_;     // used by the thread only
  std::thread thread_;  // begins with the first target
};

}  // namespace signalbox::observe
