#pragma once
// A stand-in for a model server. It answers like one and describes the request that it received, so
// that a route can be tried without a GPU and without a key.

#include <string>

#include "router/upstream/backend.h"

namespace signalbox::upstream {

class EchoBackend final : public Backend {
 public:
  /// `model` is the configured model whose place it takes.
  explicit EchoBackend(std::string model) : model_(std::move(model)) {}

  /// Returns an OpenAI chat completion, or its chunks as server-sent events if the body requests a
  /// stream. A body that is not a chat request gets a 400, as from a real server. Token counts are
  /// word counts.
  http::Task<Result<std::unique_ptr<UpstreamReply>>> call(const Call& call) const override;

 private:
  std::string model_;
};

}  // namespace signalbox::upstream
