#pragma once
// The workers of all models for the life of the process: how busy and how fit they are is no matter
// of the file, so a configuration that is read anew and leaves a model's backends as they are finds
// them as they were. Asks them on a thread of its own how they are.

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
  /// A backend that is asked for its health or its metrics.
  using Make = std::function<std::unique_ptr<const Backend>(const config::BackendRef& ref)>;

  Fleet();
  ~Fleet();

  /// The balancer of a model's backends, in the order of the file. Its workers are checked as the
  /// model's `reliability` says and their metrics are read where they have them, until nobody holds
  /// it any longer.
  std::shared_ptr<workers::Balancer> balancer(const config::Model& model, const Make& make);

  /// Those that somebody holds, with the names of their models.
  std::vector<std::pair<std::string, std::shared_ptr<const workers::Balancer>>> balancers() const;

  /// Nobody is asked any more, and no wait is ended from here. To be called before the loops on
  /// which requests wait are gone.
  void stop();

 private:
  struct Known {
    std::vector<config::BackendRef> backends;
    config::Reliability settings;
    std::weak_ptr<workers::Balancer> balancer;
  };
  class Watch;

  mutable std::mutex mutex_;
  std::map<std::string, Known, std::less<>> known_;  // by model name
  std::unique_ptr<Watch> watch_;                     // null until somebody has to be asked
  bool stopped_ = false;
};

}  // namespace signalbox::upstream
