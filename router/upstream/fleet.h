#pragma once
// Keeps the workers of all models for the life of the process. Load and health are not part of the
// configuration file, so a reload that leaves a model's backends unchanged keeps their state. A
// thread of its own requests the workers' health and metrics.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "router/config/config.h"
#include "router/upstream/backend.h"
#include "router/workers/balancer.h"

namespace signalbox::upstream {

/// Thread-safe.
class Fleet {
 public:
  /// Makes a backend for health checks or for metrics.
  using Make = std::function<std::unique_ptr<const Backend>(const config::BackendRef& ref)>;

  Fleet();
  ~Fleet();

  /// Returns the balancer of a model's backends, in the order of the file. Until nobody holds it,
  /// its workers are health-checked as the model's `reliability` configures, and the metrics of
  /// those that have them are read.
  std::shared_ptr<workers::Balancer> balancer(const config::Model& model, const Make& make);

  /// Returns the balancers that somebody still holds, with the names of their models.
  std::vector<std::pair<std::string, std::shared_ptr<const workers::Balancer>>> balancers() const;

  /// Stops all probes; no waiting request is woken from here on. Call it before the loops on which
  /// requests wait are gone.
  void stop();

 private:
  struct ModelEntry {
    std::vector<config::BackendRef> backends;
    config::Reliability settings;
    std::weak_ptr<workers::Balancer> balancer;
  };
  class Prober;

  mutable std::mutex mutex_;
  std::map<std::string, ModelEntry, std::less<>> entries_;  // by model name
  std::unique_ptr<Prober> prober_;                          // null until a worker needs probes
  bool stopped_ = false;
};

}  // namespace signalbox::upstream
