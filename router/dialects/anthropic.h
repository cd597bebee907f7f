#pragma once
// POST /v1/messages as Anthropic's clients speak it, in front of chat completions.

#include "router/dialects/dialect.h"

namespace signalbox::dialects {

/// What the reply depends on besides what the server says.
struct MessagesAsked {
  std::string chat;       // the body of the chat completion request
  bool thinking = false;  // the client wants to see what a model thinks
};

/// A request of the Messages API as one for a chat completion. What has no place in one, such as
/// tools that run at the provider, is refused by its path (kInvalid); parts of content of a type
/// that the API does not know go on as they are. Of hints that change no answer (cache_control)
/// none goes out.
Result<MessagesAsked> read_messages(std::string body);

/// Chat completions as messages. `id` stands for one that the server leaves out.
std::unique_ptr<ReplyTranslator> messages_replies(bool thinking, std::string id);

class AnthropicDialect final : public Dialect {
 public:
  Result<Incoming> read(std::string body, const Asking& asking) const override;
  std::string_view protocol() const override { return "anthropic"; }
  std::string refusal(int status, std::string_view body) const override;
};

/// {"type":"error","error":{"type","message"}} with the type that the status has there.
std::string messages_error(int status, std::string_view message);

}  // namespace signalbox::dialects
