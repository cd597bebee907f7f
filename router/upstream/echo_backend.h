#pragma once
// A model server that is not there: it answers as one would and says what it received, so that a
// route can be tried without a GPU and without a key.

#include <string>

#include "router/upstream/backend.h"

namespace signalbox::upstream {

class EchoBackend final : public Backend {
 public:
  /// `model` is the configured model that it stands for.
  explicit EchoBackend(std::string model) : model_(std::move(model)) {}

  /// An OpenAI chat completion, or its chunks as server-sent events when the body asks for a
  /// stream. A body that is no chat request gets 400, as from a real server. Token counts are
  /// counts of words.
  http::Task<Result<std::unique_ptr<UpstreamReply>>> call(const Call& call) const override;

 private:
  std::string model_;
};

}  // namespace signalbox::upstream
