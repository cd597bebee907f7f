#pragma once
// One OpenAI chat completion request, parsed as far as routing needs it: views into the exact bytes
// that the client sent.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "router/request/native_request.h"
#include "router/request/text_pool.h"

namespace signalbox::request {

struct ChatMessage {
  std::string_view role;
  // The text parts of the content, joined by a line feed, without images and other media. A single
  // text is a view of the body.
  std::string_view text;
  uint32_t images = 0;      // content parts that are or refer to an image
  uint32_t tool_calls = 0;  // calls that an assistant requests
  // The other text of the message (request_text.h): the author's name, names and arguments of
  // calls, reasoning, parts of other types, names of files and, for a text that is JSON, its
  // strings with escapes resolved. Each is on a line of its own.
  std::string_view aside = {};
  bool has_audio = false, has_video = false;  // content parts
};

/// A request with more messages is refused, because each takes several times its bytes.
inline constexpr size_t kMessagesMax = size_t{1} << 16;
/// A request with more members is refused, because they are searched on event loops, too.
inline constexpr size_t kMembersMax = size_t{1} << 16;

/// The client's `tool_choice`: the model chooses, must call a tool, or must not.
enum class ToolChoice : uint8_t { kAuto, kRequired, kNone };

/// Move-only. The views stay valid after a move; a json::Value would not, so none is stored.
struct ChatRequest {
  json::Document document;  // owns the body
  std::string_view model;
  bool stream = false;
  std::vector<ChatMessage> messages;
  TextPool texts_made;       // texts and asides of messages that are not views of the body
  uint32_t tools = 0;        // number of tools that the client offers
  uint32_t tools_bytes = 0;  // size of the tool definitions
  ToolChoice tool_choice = ToolChoice::kAuto;
  // Text outside the messages: prediction, suffix, and documents and variables of the template.
  std::string attached;
  // Text of tools, functions, the reply's schema and the template: names, descriptions, and
  // everything in the parameters.
  std::string definitions;
  // Text of members that no model reads, but that its server gets: user, metadata, stop.
  std::string sent;
  // The request as its client wrote it, if a server might get it so; nullopt for a chat completion.
  std::optional<NativeRequest> native;
  // True if the client wrote a message or a response, so that the members' names are the router's.
  bool is_translated = false;
  // The client's wish for reasoning, if its API has more than an effort for it.
  std::optional<bool> reasoning;

  /// Adds the texts of a JSON array to `attached`: parts of a native request that its reading as a
  /// chat completion leaves out. "" adds nothing.
  void attach(std::string_view json);

  /// Returns the text of the last message that has text and the role "user" or an unknown role;
  /// empty if there is none.
  std::string_view user_text() const;
  /// Returns the texts of the messages with such a role, the last one first, without empty ones.
  std::vector<std::string_view> user_texts() const;
  /// Returns the texts that are new in this request: the message of user_text(), and after it the
  /// last message of an assistant and all later messages, which are tool calls and their results;
  /// for each its text and its aside; then `attached`. user_text() comes first, then the last
  /// message first, without empty texts.
  std::vector<std::string_view> turn_texts() const;
  /// Returns all text that a model receives: texts and asides of all messages, the last one first,
  /// then `attached` and `definitions`, without empty ones.
  std::vector<std::string_view> texts() const;
  /// Returns whether one of texts() or turn_texts() is a document: the result of a tool or a
  /// function, or `attached`. The model reads it for the user, who did not write it.
  bool is_document(std::string_view text) const;
  /// Returns a string of the member `metadata`, which the client can set freely; nullopt if it is
  /// absent or not a string.
  std::optional<std::string_view> metadata(std::string_view key) const;
  /// Returns whether the client requests the usage of a stream (stream_options.include_usage).
  bool requests_usage() const;

  /// The memory that the request holds, its body included.
  size_t memory_bytes() const;
  /// The most memory that parse() takes at any moment, with the body itself.
  static size_t parsing_bytes(std::string_view body);

  /// Errors: kInvalid with the path of the invalid member ("messages[2].role: expected a string"),
  /// also for a missing `model` or `messages` and for a repeated key that routing reads, because
  /// the upstream might use the other occurrence; kTooLarge. Fields that routing does not need are
  /// not checked.
  static Result<ChatRequest> parse(std::string body);
  /// The same, but takes the body only if it returns a request.
  static Result<ChatRequest> take(std::string& body);
};

}  // namespace signalbox::request
