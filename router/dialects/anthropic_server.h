#pragma once
// Translates for servers with Anthropic's Messages API: chat completion requests become message
// requests, and replies become chat completions.

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "router/dialects/dialect.h"

namespace signalbox::dialects {

inline constexpr std::string_view kMessagesPath = "/v1/messages";

/// The most memory that to_messages() takes besides the chat itself, in times of its size.
inline constexpr size_t kMessagesCopies = 10;

/// Parts of a request that the server is to keep in its prompt cache. They are marked unless the
/// request has marks of its own.
struct CacheMarks {
  bool instructions = false;    // the last text of the system
  bool tools = false;           // the last tool
  std::string_view ttl = "5m";  // the API's default, or "1h"
};

/// The translation of a chat completion request with its edits.
struct MessagesRequest {
  std::string body;
  std::unique_ptr<ReplyTranslator> replies;
  Losses losses = {};
};

/// kInvalid with the path of a malformed member. A member without an equivalent in that API is a
/// loss. Left out without a word are members that only the client's own server would use (metadata,
/// store, service_tier, prompt_cache_key, safety_identifier) and an assistant's thoughts, which the
/// API rejects without their signature. `now` is in seconds since 1970.
Result<MessagesRequest> to_messages(std::string chat, int64_t now, const CacheMarks& marks = {});

/// Translates only the replies: messages to chat completions. `usage` adds the usage to the end of
/// a stream; `custom` are the names of the custom tools.
std::unique_ptr<ReplyTranslator> replies_of_messages(bool usage, int64_t now,
                                                     std::set<std::string, std::less<>> custom);

}  // namespace signalbox::dialects
