#pragma once
// Calls a model's servers. Either we do this ourselves (upstream/backends), or a proxy in front of
// us does it and brings the reply back.

#include <memory>
#include <string>

#include "router/config/providers.h"
#include "router/upstream/backend.h"

namespace signalbox::upstream {

/// How a call ended.
struct CallOutcome {
  /// Errors: those of Backend::call() for the last backend that was tried; kOverloaded if none was
  /// free in time.
  Result<std::unique_ptr<UpstreamReply>> answer = nullptr;
  std::string backend;    // the name of the server that answered; "": none did
  uint32_t attempts = 0;  // number of backends that were tried
  /// True if another model may be tried: the reply, if there is one, is an error, and the model's
  /// retry_on would allow a repetition too.
  bool elsewhere = false;
};

class ModelCaller {
 public:
  ModelCaller() = default;
  ModelCaller(const ModelCaller&) = delete;
  ModelCaller& operator=(const ModelCaller&) = delete;
  virtual ~ModelCaller() = default;

  /// Returns once a reply begins or the call has failed. Precondition: the model is in the
  /// configuration.
  virtual http::Task<CallOutcome> call(const config::Model& model, const Call& call) const = 0;
  /// Returns the caller for several models and for image servers. A proxy makes one call for each
  /// request and knows no image server, so the router makes these calls itself.
  virtual const ModelCaller& direct() const { return *this; }
  bool is_direct() const { return &direct() == this; }
};

}  // namespace signalbox::upstream
