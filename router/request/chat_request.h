#pragma once
// One OpenAI chat completion request as far as routing needs it: views into the exact bytes that
// the client sent.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::request {

struct ChatMessage {
  std::string_view role;
  std::string text;     // its text parts, joined by a line feed; images and the like are left out
  uint32_t images = 0;  // content parts that are or refer to one
  uint32_t tool_calls = 0;  // that an assistant asks for
  std::string aside = {};   // what else it says (api/words): the name of who speaks, names and
                            // arguments of calls, thoughts, parts of other kinds, their files'
                            // names, and of a text that is JSON what its escapes spell; each on a
                            // line of its own
};

/// Move-only; the views stay valid when it moves (a json::Value would not, so none is kept here).
struct ChatRequest {
  json::Document document;  // owns the body
  std::string_view model;
  bool stream = false;
  std::vector<ChatMessage> messages;
  uint32_t tools = 0;        // that the client offers
  uint32_t tools_bytes = 0;  // of their definitions
  std::string attached;      // what is said beside the messages: prediction, suffix, documents and
                             // variables of the template
  std::string definitions;   // what tools, functions, the reply's schema and the template say:
                             // names, descriptions, whatever parameters hold

  /// Text of the last message with role "user"; empty when there is none.
  std::string_view user_text() const;
  /// Texts of the messages with role "user", the last one first, empty ones left out.
  std::vector<std::string_view> user_texts() const;
  /// What is new in this request: the message of user_text(), and of what follows it the last
  /// message of an assistant and all after that, which are calls of tools and their results; of
  /// each its text and its aside, and what is attached. user_text() first, then the last one first,
  /// empty ones left out.
  std::vector<std::string_view> turn_texts() const;
  /// Everything that a model is shown: texts and asides of all messages, the last one first, then
  /// what is attached and the definitions, empty ones left out.
  std::vector<std::string_view> texts() const;
  /// A text in the member `metadata`, which the client is free to forge; nothing when it is absent
  /// or no text.
  std::optional<std::string_view> metadata(std::string_view key) const;

  /// Errors: kInvalid with the path of what is wrong ("messages[2].role: expected a string"), a
  /// missing `model` or `messages` and a repeated key that routing reads among them: which of two
  /// is meant would be a guess, and the upstream might guess otherwise. kTooLarge. Fields that
  /// routing does not need are not looked at.
  static Result<ChatRequest> parse(std::string body);
};

}  // namespace signalbox::request
