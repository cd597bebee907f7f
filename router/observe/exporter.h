#pragma once
// Exports the traces of requests in batches, on a thread of its own. A request only moves its data
// into a bounded queue. If the collector is slow or down, the queue fills up, and further traces
// are dropped and counted.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "router/observe/account.h"
#include "router/observe/metrics.h"
#include "router/observe/otlp.h"

namespace signalbox::observe {

struct ExporterOptions {
  size_t queue_max = 2048;                  // requests
  size_t batch_max = 256;                   // requests per export
  std::chrono::milliseconds period{1'000};  // the longest wait for a batch to fill
  std::chrono::milliseconds pause{5'000};   // after a failure, before the next attempt
};

/// Thread-safe.
class Exporter {
 public:
  /// Posts an OTLP body and waits for the reply within a time limit. Called on the exporter's
  /// thread.
  using Send = std::function<Result<void>(const std::string& body)>;

  /// `results` must outlive the exporter; it counts the outcome of each request's spans.
  Exporter(Send send, Resource resource, Family<Counter>& results, ExporterOptions options = {});
  /// Sends the remaining traces once, unless the last attempt failed.
  ~Exporter();

  /// Never waits for the collector. Returns false if the queue is full and the trace was dropped.
  bool add(Account account);

 private:
  void run();
  bool send_batch(std::vector<Account> batch);

  const Send send_;
  const Resource resource_;
  const ExporterOptions options_;
  Counter &exported_, &dropped_, &failed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Account> queue_;
  bool stopping_ = false;
  bool failure_logged_ = false;  // used by the thread only
  std::thread thread_;
};

}  // namespace signalbox::observe
