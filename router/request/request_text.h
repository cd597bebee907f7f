#pragma once
// Finds the text in a request that reaches the model. Guards, policies and masks all use this file,
// so that none of them overlooks text that another one reads.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::request {

/// One piece of text, with its role in the request.
struct TextPiece {
  enum class Kind : uint8_t {
    kText,
    kContent,  // the text of a message's content: a string, or `text` and `refusal` of its parts
    kNumber,   // the bytes of a number with so many digits that it could be personal data
    kName,     // name of a function or of its server
    kLabel,    // a role, a type, an id
    kFixed,    // text of a definition that the reply must match, or that names a part of it
    kKey,      // key of a member that is more than an identifier
  };
  Kind kind;
  std::string_view text;
  json::Value value;  // the value with this text; for a key, the member's value
};
using VisitText = std::function<void(const TextPiece&)>;

/// Returns whether a mask may take the place of the text. These stay as they are: kLabel and kName,
/// which refer to other parts of the request or to the client's tools; kFixed, such as patterns and
/// grammars, because a reply that matches a changed one would not match the client's; and kKey,
/// because clients look members up by it.
bool is_maskable(TextPiece::Kind kind);

/// The location of a value.
enum class Place : uint8_t {
  kMessage,     // in a message
  kAttachment,  // outside the messages, but sent to the model with them
  kDefinition,  // outside the messages, written by the application: tools, schemas
  kSent,        // read by no model, but sent to its server: the user's id, metadata, stop words
};

/// Returns the place of a request member that has text besides the messages; nullopt for the
/// others. They are left out for these reasons: `model` and `tool_choice` name things of the
/// configuration and of `tools`; `stream`, `n`, `seed`, `temperature` and other settings are no
/// text, and neither are `logit_bias`, `modalities` and `audio`, whose strings are identifiers.
std::optional<Place> place_of(std::string_view key);

/// Visits every text of a message, in the order of the source, except addresses of images, videos
/// and sounds, and data in base64.
void visit_message_text(const json::Value& message, const VisitText& visit);

/// Visits every text of one object in a message of another API: a block, an item. `is_call`: its
/// `name` is that of a function. The tools that a server has listed in it are a definition.
void visit_object_text(const json::Value& object, bool is_call, const VisitText& visit);

/// Does the same as visit_message_text() for another value. Skips the numbers of a definition,
/// because they are limits.
void visit_text(const json::Value& value, Place place, const VisitText& visit);

/// Visits the texts of a whole request of any API that have the place kSent.
void visit_sent_text(const json::Value& request, const VisitText& visit);

/// Parses a text that is JSON, such as the arguments of a call; white space around it is allowed.
std::optional<json::Document> json_within(std::string_view text);

/// Appends the text to `out` on a line of its own. If the text is JSON, appends all text in it
/// instead, one level deep. Skips labels that are identifiers.
void append_text(const TextPiece& piece, std::string& out);

/// For a text that is JSON, appends the text that is visible only after parsing it: strings with
/// escapes, and keys that are more than identifiers, each on a line of its own.
void append_escaped(std::string_view text, std::string& out);

}  // namespace signalbox::request
