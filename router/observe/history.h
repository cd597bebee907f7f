#pragma once
// The last quarter of an hour in steps of two seconds, for the dashboard: each step holds the
// increase of the metrics. A thread of its own encodes each step once, so that ten viewers cost as
// much as one, and requests pay nothing.

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

  /// `metrics` must outlive it.
  explicit History(const Metrics& metrics);
  ~History();

  /// Starts the thread. Call it once.
  void start();
  /// Ends the current step now.
  void step(std::chrono::system_clock::time_point now);

  /// Returns {"step": seconds, "began": start of the process, "next": number, "bounds": {...},
  /// "steps": [...]} with the steps from number `from` on, or all steps if `from` lies in the
  /// future. A value that a step lacks was zero. Histograms are counts per bound, as in
  /// Histogram::counts().
  std::string json(uint64_t from) const;

 private:
  /// Readings of the metrics; a step is the difference of two.
  struct Totals {
    double requests = 0, failed = 0, blocked = 0, mistakes = 0;
    double prompt = 0, completion = 0, saved = 0;
    // By currency. `not_compared` are amounts on one side only: savings are not known then.
    std::map<std::string, double> cost, cost_on_default, not_compared;
    std::map<std::string, double> models, decisions, cache;  // requests; lookups by outcome
    std::map<std::string, double> errors, denied;            // by reason
    std::vector<uint64_t> routing, upstream, ttft;
  };
  Totals read_totals() const;
  static std::string encode(std::chrono::system_clock::time_point at, const Totals& now,
                            const Totals& before);
  void run();

  const Metrics& metrics_;
  const int64_t began_;  // seconds since 1970
  mutable std::mutex mutex_;
  Totals before_;
  std::deque<std::string> steps_;  // JSON, oldest first
  uint64_t first_ = 0;             // number of the oldest step
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace signalbox::observe
