#pragma once
// Implements POST /v1/completions. A prompt is evaluated like a user's message, and is sent to the
// server as it came.

#include "router/dialects/dialect.h"

namespace signalbox::dialects {

/// Replaces `prompt` in the client's bytes by `messages`, one for each text. outgoing() puts the
/// prompt back, including the edits. Prompts of token numbers are rejected, because no signal could
/// read them.
class CompletionsDialect final : public Dialect {
 public:
  Result<Incoming> read(std::string&& body, const RequestContext& context) const override;
  Result<std::string> outgoing(std::string_view chat) const override;
  Result<std::string> as_chat(std::string_view chat) const override;
  std::string_view target() const override { return "/v1/completions"; }
  bool passes_replies() const override { return true; }
  std::string refusal(int status, std::string_view body) const override;
};

}  // namespace signalbox::dialects
