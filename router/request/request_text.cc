// Recursion is as deep as the parser lets a document nest, and what is asked of an object is asked
// once, so the time is linear. Escapes are resolved on the way, also those of the JSON within a
// text: written \u0069gnore a word would be read by the model alone.

#include "router/request/request_text.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace signalbox::request {
namespace {

using json::Value;
using Kind = Word::Kind;

constexpr size_t kIdentifierMax = 64;
constexpr size_t kTellingDigits = 9;  // of a social security number; the shortest that has rules
constexpr size_t kDataMin = 64;       // shorter is no picture, and might be a number of somebody's

// Members of a request.
constexpr std::array<std::string_view, 4> kAttachments = {"prediction", "suffix", "documents",
                                                          "chat_template_kwargs"};
constexpr std::array<std::string_view, 4> kDefinitions = {"tools", "functions", "response_format",
                                                          "chat_template"};

constexpr std::array<std::string_view, 5> kLabels = {"id", "type", "role", "tool_call_id",
                                                     "file_id"};
constexpr std::array<std::string_view, 3> kAddresses = {"image_url", "video_url", "audio_url"};
constexpr std::array<std::string_view, 5> kData = {"data", "file_data", "signature",
                                                   "thought_signature", "encrypted_content"};
// Objects whose members are labels, and such whose `name` is a function's.
constexpr std::array<std::string_view, 5> kLabelled = {"image_url", "video_url", "audio_url",
                                                       "input_audio", "cache_control"};
constexpr std::array<std::string_view, 3> kCalls = {"function", "function_call", "custom"};

template <size_t N>
bool holds(const std::array<std::string_view, N>& all, std::string_view key) {
  return std::find(all.begin(), all.end(), key) != all.end();
}

bool is_identifier(std::string_view text) {
  return text.size() <= kIdentifierMax && std::all_of(text.begin(), text.end(), [](char c) {
           return ascii::is_alnum(c) || c == '_' || c == '-' || c == '$';
         });
}

bool is_telling(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), ascii::is_digit)) >=
         kTellingDigits;
}

/// Base64 of either alphabet, with or without what `data:` URLs have before it.
bool is_base64(std::string_view text) {
  constexpr std::string_view kMark = ";base64,";
  constexpr size_t kBeforeMax = 128;  // a media type
  if (text.starts_with("data:")) {
    const size_t mark = text.substr(0, kBeforeMax).find(kMark);
    if (mark == std::string_view::npos) return false;
    text.remove_prefix(mark + kMark.size());
  }
  return text.size() >= kDataMin && std::all_of(text.begin(), text.end(), [](char c) {
           return ascii::is_alnum(c) ||
                  std::string_view("+/-_=\r\n").find(c) != std::string_view::npos;
         });
}

class Walk {
 public:
  /// Without a place all of it counts.
  Walk(std::optional<Place> place, const Hear& hear) : place_(place), hear_(hear) {}

  void value(const Value& value, std::string_view key) const {
    if (value.is_string()) hear_({Kind::kText, value.text(), value});
    if (value.is_number() && place_ != Place::kDefinition && is_telling(value.raw()))
      hear_({Kind::kNumber, value.raw(), value});
    for (const Value& item : value.items()) this->value(item, key);
    members(value, key);
  }

  void members(const Value& object, std::string_view parent) const {
    const bool names_function = holds(kCalls, parent);
    for (const json::Member& member : object.members())
      this->member(member, parent, names_function);
  }

  void member(const json::Member& member, std::string_view parent, bool names_function) const {
    if (!is_identifier(member.key) || is_telling(member.key))
      hear_({Kind::kKey, member.key, member.value});
    if (!member.value.is_string()) return value(member.value, member.key);
    const std::string_view text = member.value.text();
    if (is_left_out(parent, member.key, text)) return;
    hear_({kind_of(parent, member.key, names_function), text, member.value});
  }

 private:
  bool is_left_out(std::string_view parent, std::string_view key, std::string_view text) const {
    if (!place_ || place_ == Place::kDefinition) return false;
    const bool address = holds(kAddresses, key) || (key == "url" && holds(kAddresses, parent));
    if (place_ == Place::kMessage && address) return true;
    return holds(kData, key) && is_base64(text);
  }

  Kind kind_of(std::string_view parent, std::string_view key, bool names_function) const {
    if (!place_) return Kind::kText;
    if (holds(kLabels, key) || holds(kLabelled, parent)) return Kind::kLabel;
    if (key == "name" && names_function) return Kind::kName;
    return Kind::kText;
  }

  std::optional<Place> place_;
  const Hear& hear_;
};

/// Every word of the JSON that a text is; false, and none, when it is not JSON.
bool each_word_within(std::string_view text, const Hear& hear) {
  const auto document = json_within(text);
  if (document) Walk(std::nullopt, hear).value(document->root(), "");
  return document.has_value();
}

void append_line(std::string_view text, std::string& out) {
  if (text.empty()) return;
  if (!out.empty()) out.push_back('\n');
  out += text;
}

}  // namespace

std::optional<Place> place_of(std::string_view key) {
  if (holds(kAttachments, key)) return Place::kAttachment;
  if (holds(kDefinitions, key)) return Place::kDefinition;
  return std::nullopt;
}

void each_word_of_message(const Value& message, const Hear& hear) {
  const Walk walk(Place::kMessage, hear);
  const auto role = message.find("role");
  const bool is_functions =
      role && role->is_string() && (role->text() == "tool" || role->text() == "function");
  for (const json::Member& member : message.members()) {
    if (member.key != "content") {
      walk.member(member, "", is_functions);
      continue;
    }
    if (member.value.is_string()) hear({Kind::kContent, member.value.text(), member.value});
    for (const Value& part : member.value.items()) {
      for (const json::Member& each : part.members()) {
        const bool said = each.key == "text" || each.key == "refusal";
        if (said && each.value.is_string()) {
          hear({Kind::kContent, each.value.text(), each.value});
        } else {
          walk.member(each, "", false);
        }
      }
    }
  }
}

void each_word(const Value& value, Place place, const Hear& hear) {
  Walk(place, hear).value(value, "");
}

std::optional<json::Document> json_within(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '['))
    return std::nullopt;
  auto document = json::Document::parse(std::string(text));
  if (!document) return std::nullopt;
  return *std::move(document);
}

void append_word(const Word& word, std::string& out) {
  if (word.kind == Kind::kLabel && is_identifier(word.text)) return;
  const bool heard = word.kind != Kind::kKey && each_word_within(word.text, [&](const Word& each) {
                       append_line(each.text, out);
                     });
  if (!heard) append_line(word.text, out);
}

void append_escaped(std::string_view text, std::string& out) {
  if (text.find('\\') == std::string_view::npos) return;
  each_word_within(text, [&](const Word& word) {
    const size_t quoted = word.value.end() - word.value.begin();
    if (word.kind == Kind::kKey || (word.value.is_string() && quoted != word.text.size() + 2))
      append_line(word.text, out);
  });
}

}  // namespace signalbox::request
