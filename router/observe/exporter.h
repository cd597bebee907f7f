#pragma once
// Exports the traces of requests in batches, on a thread of its own. A request only moves its data
// into a bounded queue. If the collector is slow or down, the batch in hand is tried again for a
// while, the queue fills up, and further traces are dropped and counted.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "router/observe/account.h"
#include "router/observe/delivery.h"
#include "router/observe/metrics.h"
#include "router/observe/otlp.h"

namespace signalbox::observe {

struct ExporterOptions {
  size_t queue_max = 2048;                      // requests
  size_t batch_max = 256;                       // requests per export
  std::chrono::milliseconds period{1'000};      // the longest wait for a batch to fill
  std::chrono::milliseconds pause{1'000};       // before the second attempt; then twice as long
  std::chrono::milliseconds pause_max{30'000};  // the longest pause, unless the collector requests
                                                // a longer one
  std::chrono::milliseconds keep{60'000};       // a batch is given up at a failure after this time
};

/// Outlives the exporter.
struct ExportCounters {
  Family<Counter>& results;   // of the spans of each request
  Family<Counter>& retries;   // exports that are kept for another attempt
  Family<Counter>& rejected;  // spans of accepted exports
};

/// Thread-safe.
class Exporter {
 public:
  /// Sends an OTLP message and waits for the reply within a time limit. Called on the exporter's
  /// thread.
  using Send = std::function<Delivery(const std::string& body)>;

  Exporter(Send send, Resource resource, ExportCounters counters, ExporterOptions options = {});
  /// Sends the remaining traces once, up to the first failure.
  ~Exporter();

  /// Never waits for the collector. Returns false if the queue is full and the trace was dropped.
  bool add(Account account);

 private:
  void run();
  std::vector<Account> take();
  bool deliver(const std::vector<Account>& batch);
  bool wait_before_retry(std::chrono::milliseconds pause, const Delivery& failed);
  void report(const Delivery& delivery);

  const Send send_;
  const Resource resource_;
  const ExporterOptions options_;
  Counter &exported_, &dropped_, &failed_, &retries_, &rejected_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::vector<Account>> queue_;  // batches; all but the last are full
  size_t queued_ = 0;                       // requests in them
  bool stopping_ = false;
  // Used by the thread only:
  bool failure_logged_ = false;
  bool rejection_logged_ = false;
  std::minstd_rand random_{std::random_device{}()};
  std::thread thread_;
};

}  // namespace signalbox::observe
