#pragma once
// The backends of every configured model, and a call to one of them: which, and whom next when it
// fails.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/config/config.h"
#include "router/upstream/fleet.h"
#include "router/upstream/model_caller.h"

namespace signalbox::upstream {

/// Immutable and thread-safe; a call stays on its caller's loop.
class Backends final : public ModelCaller {
 public:
  /// API keys are read from the environment here, once. The fleet outlives this.
  Backends(const config::Config& config, Fleet& fleet);
  ~Backends() override;

  /// Asks one of the model's backends, as its `reliability` says; another one where the first has
  /// failed in a way that retry_on names, at most retry_count times and each once; waits where all
  /// have as many requests as they may. Precondition: the model is one of the configuration.
  http::Task<CallOutcome> call(const config::Model& model, const Call& call) const override;

  /// What an operator should know, one line each: keys that are missing, schemes that are not
  /// built.
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  struct Pool;
  std::map<std::string, std::unique_ptr<const Pool>, std::less<>> pools_;  // by model name
  std::vector<std::string> notices_;
};

}  // namespace signalbox::upstream
