#pragma once
// The names of models by which servers may label a metric. Every reply may have another name, so
// only the first ones of each model are labels.

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace signalbox::observe {

/// Outlives configurations, so that no server gets more labels by a reload. Thread-safe.
class ResponseModels {
 public:
  static constexpr size_t kNamesMax = 8;      // of each model, beside its own
  static constexpr size_t kModelsMax = 2000;  // of successive configurations

  /// Returns the label for a name that the server of `model` reports: the name, or "other". It is
  /// valid for as long as this object and both arguments.
  std::string_view label(const std::string& model, std::string_view name);

 private:
  std::mutex mutex_;                                                 // guards names_
  std::map<std::string, std::set<std::string, std::less<>>> names_;  // by model
};

}  // namespace signalbox::observe
