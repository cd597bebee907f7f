#pragma once
// Who calls a model's servers: we do (upstream/backends), or a proxy in front of us does, which
// brings the reply back.

#include <memory>

#include "router/config/providers.h"
#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// How a call ended.
struct CallOutcome {
  /// Errors: those of Backend::call of the last that was asked; kOverloaded when none had room in
  /// time.
  Result<std::unique_ptr<UpstreamReply>> answer = nullptr;
  uint32_t attempts = 0;  // backends that were asked
  /// The answer, if there is one, is a refusal, and asking another model instead repeats nothing
  /// that the model's retry_on would not repeat.
  bool elsewhere = false;
};

class ModelCaller {
 public:
  ModelCaller() = default;
  ModelCaller(const ModelCaller&) = delete;
  ModelCaller& operator=(const ModelCaller&) = delete;
  virtual ~ModelCaller() = default;

  /// Returns once a reply begins or there is none. The model is one of the configuration.
  virtual http::Task<CallOutcome> call(const config::Model& model, const Call& call) const = 0;
};

}  // namespace signalbox::upstream
