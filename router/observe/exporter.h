#pragma once
// Sends the traces of requests away, a batch at a time, on a thread of its own. What a request pays
// is a move into a bounded queue; while the collector is slow or down the queue fills and what
// comes then is dropped and counted.

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
  size_t batch_max = 256;                   // requests of one export
  std::chrono::milliseconds period{1'000};  // a batch waits no longer
  std::chrono::milliseconds pause{5'000};   // after a failure, before the next attempt
};

/// Thread-safe.
class Exporter {
 public:
  /// Posts a body of OTLP's and waits, within a limit of its own. Called on the exporter's
  /// thread.
  using Send = std::function<Result<void>(const std::string& body)>;

  /// `results` outlives it: it is counted there what became of the spans, by request.
  Exporter(Send send, Resource resource, Family<Counter>& results, ExporterOptions options = {});
  /// Sends what is left, once, unless the last attempt failed.
  ~Exporter();

  /// Never waits for the collector. False when the queue is full: it is dropped.
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
  bool complained_ = false;  // the thread's own
  std::thread thread_;
};

}  // namespace signalbox::observe
