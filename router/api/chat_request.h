#pragma once
// One OpenAI chat completion request as far as routing needs it: views into the exact bytes that
// the client sent.

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace signalbox::router {

struct ChatMessage {
  std::string_view role;
  std::string text;  // its text parts, joined by a line feed; images and the like are left out
};

/// Move-only; the views stay valid when it moves (a json::Value would not, so none is kept here).
struct ChatRequest {
  json::Document document;  // owns the body
  std::string_view model;
  bool stream = false;
  std::vector<ChatMessage> messages;

  /// Text of the last message with role "user"; empty when there is none.
  std::string_view user_text() const;

  /// Errors: kInvalid with the path of what is wrong ("messages[2].role: expected a string"), a
  /// missing `model` or `messages` and a repeated key that routing reads among them: which of two
  /// is meant would be a guess, and the upstream might guess otherwise. kTooLarge. Fields that
  /// routing does not need are not looked at.
  static Result<ChatRequest> parse(std::string body);
};

}  // namespace signalbox::router
