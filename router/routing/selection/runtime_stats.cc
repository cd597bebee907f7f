// A single lock suffices: it covers at most a few hundred numbers for each request.

#include "router/routing/selection/runtime_stats.h"

#include <algorithm>

namespace signalbox::selection {

void RuntimeStats::Samples::add(Sample sample) {
  if (ring.size() < kSamplesMax) {
    ring.push_back(sample);
    return;
  }
  ring[next] = sample;
  next = (next + 1) % kSamplesMax;
}

std::vector<double> RuntimeStats::Samples::ascending(TimePoint now) const {
  std::vector<double> out;
  for (const Sample& sample : ring) {
    if (now - sample.at <= kAgeMax) out.push_back(sample.ms);
  }
  std::sort(out.begin(), out.end());
  return out;
}

RuntimeStats::Model& RuntimeStats::model(std::string_view name) {
  const auto found = models_.find(name);
  return found != models_.end() ? found->second : models_[std::string(name)];
}

void RuntimeStats::started(std::string_view name) {
  const std::lock_guard lock(mutex_);
  ++model(name).in_flight;
}

void RuntimeStats::ended(std::string_view name) {
  const std::lock_guard lock(mutex_);
  Model& of = model(name);
  SIGNALBOX_CHECK(of.in_flight > 0);
  --of.in_flight;
}

void RuntimeStats::add_ttft(std::string_view name, double ms, TimePoint now) {
  const std::lock_guard lock(mutex_);
  model(name).ttft.add({now, ms});
}

void RuntimeStats::add_tpot(std::string_view name, double ms, TimePoint now) {
  const std::lock_guard lock(mutex_);
  model(name).tpot.add({now, ms});
}

Figures RuntimeStats::figures(std::string_view name, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(name);
  if (found == models_.end()) return {};
  const Model& of = found->second;
  return {of.ttft.ascending(now), of.tpot.ascending(now), of.in_flight};
}

}  // namespace signalbox::selection
