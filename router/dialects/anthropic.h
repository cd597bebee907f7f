#pragma once
// Implements POST /v1/messages of Anthropic's API on top of chat completions.

#include "router/dialects/dialect.h"

namespace signalbox::dialects {

/// A request and the parts that the translation of its reply needs.
struct ParsedMessages {
  std::string chat;                              // the body of the chat completion request
  bool thinking = false;                         // the client wants to see the model's thinking
  std::optional<bool> reasoning = std::nullopt;  // `thinking` of the request, if it is given
  Losses losses = {};
};

/// Reads a request of the Messages API as a chat completion request. Members without an equivalent
/// there, such as tools that run at the provider, are losses. Content parts of a type that the API
/// does not define pass unchanged. All system messages become one at the front, because many
/// servers accept no other. Errors: kInvalid for a malformed member, with its path.
Result<ParsedMessages> read_messages(const json::Value& root);

/// Translates chat completions to messages. `id` is used if the server sends none.
std::unique_ptr<ReplyTranslator> messages_replies(bool thinking, std::string id);

class AnthropicDialect final : public Dialect {
 public:
  Result<Incoming> read(std::string&& body, const RequestContext& context) const override;
  std::string_view protocol() const override { return "anthropic"; }
  std::string refusal(int status, std::string_view body) const override;
};

/// {"type":"error","error":{"type","message"}} with the API's error type for that status.
std::string messages_error(int status, std::string_view message);

}  // namespace signalbox::dialects
