#pragma once
// The backends of all configured models. A call goes to one of a model's backends, and to the next
// one if that fails.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/config/config.h"
#include "router/upstream/fleet.h"
#include "router/upstream/model_caller.h"

namespace signalbox::upstream {

/// Immutable and thread-safe. A call stays on its caller's loop.
class Backends final : public ModelCaller {
 public:
  /// Reads the API keys from the environment once. `fleet` must outlive this object.
  Backends(const config::Config& config, Fleet& fleet);
  ~Backends() override;

  /// Calls one of the model's backends, as its `reliability` configures. If the call fails in a way
  /// that retry_on lists, it tries another backend, at most retry_count times and each backend
  /// once. It waits if every backend has as many requests as it may have. Precondition: the model
  /// is in the configuration.
  http::Task<CallOutcome> call(const config::Model& model, const Call& call) const override;

  /// Startup notices for the operator, one line each, such as missing keys.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  struct Pool;
  std::map<std::string, std::unique_ptr<const Pool>, std::less<>> pools_;  // by model name
  std::vector<std::string> notices_;
};

}  // namespace signalbox::upstream
