#pragma once
// The text of a choice, of a message or of a response, for checks of whole replies and of streams.

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "router/request/native_request.h"

namespace signalbox::replies {

struct ReplyContent {
  std::optional<json::Value> value =
      {};                 // a string or an array of parts; nullopt: neither is present
  std::string text = {};  // of the string, or of all parts in order
  bool unread = false;    // the choice has other content too
};

/// `member` is "message" or "delta", the member that holds a chat's content. Plain completions have
/// a `text`. A refusal counts as content. Thoughts are left out, both among the parts and next to
/// the content.
ReplyContent content_of(const json::Value& choice, std::string_view member);

/// The member if it is a text, else "".
std::string_view text_member(const json::Value& object, std::string_view key);

/// The text that a client shows of a block of Anthropic's messages. Thoughts, calls of tools and
/// their results have none. All strings of a block of an unknown type count as shown.
std::string text_of_block(const json::Value& block);
/// The same for a part of a message of OpenAI's responses.
std::string text_of_part(const json::Value& part);
/// The same for an item of a response that is not a message.
std::string text_of_item(const json::Value& item);
/// All strings but types and ids, one on each line.
std::string all_strings(const json::Value& value);

/// A whole message or response of the API.
struct NativeReply {
  std::string text = {};  // that clients show
  /// The block, or the item, that begins it; nullopt if there is none.
  std::optional<json::Value> first = std::nullopt;
  bool calls = false;  // the client is to call a tool
};
/// Returns nullopt for a body without a list of blocks or items.
std::optional<NativeReply> read_native(const json::Value& root, request::Api api);
/// True if the client runs the tool that a block or an item calls.
bool calls_client(const json::Value& item);

}  // namespace signalbox::replies
