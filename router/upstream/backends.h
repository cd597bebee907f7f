#pragma once
// The backends of every configured model, and the choice among those of one.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/config/config.h"
#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// Immutable and thread-safe.
class Backends {
 public:
  /// API keys are read from the environment here, once.
  explicit Backends(const config::Config& config);

  /// One of the model's backends, drawn by weight; weights that are all zero count as equal.
  /// Precondition: the model is one of the configuration.
  const Backend& choose(const config::Model& model) const;

  /// What an operator should know, one line each: keys that are missing, schemes that are not
  /// built.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  struct Choice {
    std::unique_ptr<const Backend> backend;
    uint64_t weight_up_to;  // sum of the weights so far, this one included
  };
  std::map<std::string, std::vector<Choice>, std::less<>> choices_;  // by model name
  std::vector<std::string> notices_;
};

}  // namespace signalbox::upstream
