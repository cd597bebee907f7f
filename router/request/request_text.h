#pragma once
// What a piece of JSON says to a model that is shown it. Guards, policies and masks ask here alone
// what of a request is text, so that none of them overlooks what another sees.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::request {

/// Something that is said, by what it is there for.
struct Word {
  enum class Kind : uint8_t {
    kText,
    kContent,  // the text of a message's content: a string, or `text` and `refusal` of its parts
    kNumber,   // of so many digits that it could be somebody's; its bytes
    kName,     // of a function
    kLabel,    // a role, a kind, an id
    kKey,      // of a member, where it is more than an identifier
  };
  Kind kind;
  std::string_view text;
  json::Value value;  // that says it; of a key, the member's
};
using Hear = std::function<void(const Word&)>;

/// Where a value stands.
enum class Place : uint8_t {
  kMessage,     // in a message
  kAttachment,  // beside the messages, and said with them
  kDefinition,  // beside them, and of the application: tools, schemas
};

/// Of a request's members, which a model is shown with the messages or before them; none of others.
std::optional<Place> place_of(std::string_view key);

/// Tells every word of a message, in the order of the source. Left out: addresses of images, videos
/// and sounds; data in base64.
void each_word_of_message(const json::Value& message, const Hear& hear);

/// The same of another value. Numbers of a definition are bounds, and left out.
void each_word(const json::Value& value, Place place, const Hear& hear);

/// The JSON that a text is, as the arguments of a call are, white space around it or not.
std::optional<json::Document> json_within(std::string_view text);

/// Appends a word to `out` on a line of its own. A text that is JSON itself is opened once, and
/// then all of it counts. Left out: labels that are identifiers.
void append_word(const Word& word, std::string& out);

/// Of a text that is JSON, what only who opens it reads: strings with escapes, and keys that are
/// more than identifiers, each on a line of its own.
void append_escaped(std::string_view text, std::string& out);

}  // namespace signalbox::request
