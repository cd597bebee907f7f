#pragma once
// Implements POST /v1/messages of Anthropic's API on top of chat completions.

#include "router/dialects/dialect.h"

namespace signalbox::dialects {

/// The parts of the request that the translation of its reply needs.
struct ParsedMessages {
  std::string chat;       // the body of the chat completion request
  bool thinking = false;  // the client requests the model's thinking
};

/// Translates a request of the Messages API to a chat completion request. Members without an
/// equivalent there, such as tools that run at the provider, are rejected with their path
/// (kInvalid). Content parts of a type that the API does not define pass unchanged. Hints that do
/// not change the answer (cache_control) are dropped.
Result<ParsedMessages> read_messages(std::string body);

/// Translates chat completions to messages. `id` is used if the server sends none.
std::unique_ptr<ReplyTranslator> messages_replies(bool thinking, std::string id);

class AnthropicDialect final : public Dialect {
 public:
  Result<Incoming> read(std::string body, const RequestContext& context) const override;
  std::string_view protocol() const override { return "anthropic"; }
  std::string refusal(int status, std::string_view body) const override;
};

/// {"type":"error","error":{"type","message"}} with the API's error type for that status.
std::string messages_error(int status, std::string_view message);

}  // namespace signalbox::dialects
