#pragma once
// Delivers exports to a collector, and retries those whose failure may be temporary. Traces and
// metrics share these rules.

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "router/observe/delivery.h"
#include "router/observe/metrics.h"

namespace signalbox::observe {

/// Sends an OTLP message and waits for the reply within a time limit. Called on one thread at a
/// time.
using Send = std::function<Delivery(const std::string& body)>;

struct RetryOptions {
  std::chrono::milliseconds pause{1'000};       // before the second attempt; then twice as long
  std::chrono::milliseconds pause_max{30'000};  // the longest pause, unless the collector requests
                                                // a longer one
  std::chrono::milliseconds keep{60'000};  // an export is given up at a failure after this time
};

/// Outlives its users.
struct ExportCounters {
  Family<Counter>& results;   // exports by their result
  Family<Counter>& retries;   // exports that are kept for another attempt
  Family<Counter>& rejected;  // parts of accepted exports
};

/// The plural nouns by which the log names the exports.
struct Exported {
  std::string_view name;   // "traces"; also the component of the lines
  std::string_view parts;  // "spans"
};

/// Not thread-safe.
class Courier {
 public:
  /// Pauses, and returns false if the exporter is to stop.
  using Wait = std::function<bool(std::chrono::milliseconds)>;
  enum class Outcome : uint8_t {
    kAccepted,
    kRefused,
    kGivenUp,  // no reply has accepted or refused it
  };

  Courier(Exported what, ExportCounters counters);

  /// Counts `size` as exported or failed.
  Outcome deliver(const Send& send, const std::string& body, double size,
                  const RetryOptions& options, const Wait& wait);
  /// Call it when another collector gets the exports that follow. Its first failure is then logged,
  /// too.
  void begin_anew() { failure_logged_ = rejection_logged_ = false; }

 private:
  void report(const Delivery& delivery);
  std::chrono::milliseconds spread(std::chrono::milliseconds pause);

  const Exported what_;
  Counter &exported_, &failed_, &retries_, &rejected_;
  bool failure_logged_ = false;
  bool rejection_logged_ = false;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace signalbox::observe
