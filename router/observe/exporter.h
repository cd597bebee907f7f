#pragma once
// Exports the traces of requests in batches, on a thread of its own. A request only moves its data
// into a bounded queue. If the collector is slow or down, the current batch is retried for a while.
// Meanwhile the queue fills up, and then further traces are dropped and counted.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "router/observe/account.h"
#include "router/observe/courier.h"
#include "router/observe/otlp.h"

namespace signalbox::observe {

struct ExporterOptions {
  size_t queue_max = 2048;                  // requests
  size_t batch_max = 256;                   // requests per export
  std::chrono::milliseconds period{1'000};  // the longest wait for a batch to fill
  RetryOptions retry = {};
};

/// Thread-safe.
class Exporter {
 public:
  Exporter(Send send, Resource resource, ExportCounters counters, ExporterOptions options = {});
  /// Sends the remaining traces once, up to the first failure.
  ~Exporter();

  /// Never waits for the collector. Returns false if the queue is full and the trace was dropped.
  bool add(Account account);

 private:
  void run();
  std::vector<Account> take();
  bool deliver(const std::vector<Account>& batch);
  bool wait(std::chrono::milliseconds pause);

  const Send send_;
  const Resource resource_;
  const ExporterOptions options_;
  Counter& dropped_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::vector<Account>> queue_;  // batches; all but the last are full
  size_t queued_ = 0;                       // requests in them
  bool stopping_ = false;
  Courier courier_;  // used by the thread only
  std::thread thread_;
};

}  // namespace signalbox::observe
