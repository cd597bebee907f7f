#pragma once
// Servers that speak Anthropic's Messages API, behind the router: a chat completion request goes
// out as one of messages, and what comes back becomes a chat completion.

#include "router/dialects/dialect.h"

namespace signalbox::dialects {

inline constexpr std::string_view kMessagesPath = "/v1/messages";

/// What goes out for a chat completion request with its edits.
struct MessagesRequest {
  std::string body;
  std::unique_ptr<ReplyTranslator> replies;
};

/// kInvalid with the path of what has no place in a request of that API. Left out is what changes
/// no answer (metadata, store, service_tier, prompt_cache_key, safety_identifier) and what an
/// assistant has thought, which goes nowhere without its signature. `now` in seconds since 1970.
Result<MessagesRequest> to_messages(std::string chat, int64_t now);

/// The replies alone: messages as chat completions. `usage`: a stream ends with it.
std::unique_ptr<ReplyTranslator> replies_of_messages(bool usage, int64_t now);

}  // namespace signalbox::dialects
