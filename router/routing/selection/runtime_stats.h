#pragma once
// Recent performance of the upstream models: times to the first token, times for each further
// token, and requests in flight. Kept in memory by the model's name, so that it survives a reload.

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "router/routing/selection/selection.h"

namespace signalbox::selection {

/// Thread-safe. Time is a parameter.
class RuntimeStats {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// The number of samples that are kept for each kind and model, and their maximum age. A model
  /// that was slow once is not slow forever.
  static constexpr size_t kSamplesMax = 256;
  static constexpr std::chrono::minutes kAgeMax{10};

  void started(std::string_view model);
  void ended(std::string_view model);
  void add_ttft(std::string_view model, double ms, TimePoint now);
  void add_tpot(std::string_view model, double ms, TimePoint now);

  Figures figures(std::string_view model, TimePoint now) const;

 private:
  struct Sample {
    TimePoint at;
    double ms;
  };
  // A ring buffer that overwrites the oldest sample.
  struct Samples {
    std::vector<Sample> ring;
    size_t next = 0;

    void add(Sample sample);
    std::vector<double> ascending(TimePoint now) const;
  };
  struct Model {
    Samples ttft, tpot;
    uint32_t in_flight = 0;
  };
  Model& model(std::string_view name);

  mutable std::mutex mutex_;
  std::map<std::string, Model, std::less<>> models_;
};

}  // namespace signalbox::selection
