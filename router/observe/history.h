#pragma once
// The last quarter of an hour in steps of two seconds, for people who watch: what each step has
// added to the metrics. A step is encoded once, by a thread of its own, so that ten who look cost
// what one does, and no request anything.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "router/observe/metrics.h"

namespace signalbox::observe {

/// Thread-safe.
class History {
 public:
  static constexpr std::chrono::seconds kStep{2};
  static constexpr size_t kStepsMax = 450;

  /// The metrics outlive it.
  explicit History(const Metrics& metrics);
  ~History();

  /// Steps from now on. Once.
  void start();
  /// Ends a step now.
  void step(std::chrono::system_clock::time_point now);

  /// {"step": seconds, "began": of the process' history, "next": number, "bounds": {...}, "steps":
  /// [...]}: the steps from number `from` on; all for a number that is still to come. What a step
  /// lacks was zero; its histograms are counts by bound, as Histogram::counts().
  std::string json(uint64_t from) const;

 private:
  /// What a step is the difference of.
  struct Totals {
    double requests = 0, failed = 0, blocked = 0;
    double prompt = 0, completion = 0, saved = 0, cost = 0;
    std::map<std::string, double> models, decisions, cache;  // requests; lookups by outcome
    std::vector<uint64_t> routing, upstream, ttft;
  };
  Totals look() const;
  static std::string encode(std::chrono::system_clock::time_point at, const Totals& now,
                            const Totals& before);
  void run();

  const Metrics& metrics_;
  const int64_t began_;  // seconds of the epoch
  mutable std::mutex mutex_;
  Totals before_;
  std::deque<std::string> steps_;  // JSON, oldest first
  uint64_t first_ = 0;             // number of the oldest
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox::observe
