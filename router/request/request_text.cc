// Visits the text of a request. The recursion is as deep as the parser lets a document nest, and
// each object is visited once, so the time is linear. Escapes are resolved, also in JSON inside a
// text; otherwise a word written as \u0069gnore would reach the model but not the guards.

#include "router/request/request_text.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace signalbox::request {
namespace {

using json::Value;
using Kind = TextPiece::Kind;

constexpr size_t kIdentifierMax = 64;
// Digits of a social security number, the shortest number that a rule detects.
constexpr size_t kIdentifyingDigits = 9;
constexpr size_t kDataMin = 64;  // shorter data is not a picture, and might be a personal number

// Members of a request.
constexpr std::array<std::string_view, 4> kAttachments = {"prediction", "suffix", "documents",
                                                          "chat_template_kwargs"};
constexpr std::array<std::string_view, 4> kDefinitions = {"tools", "functions", "response_format",
                                                          "chat_template"};

constexpr std::array<std::string_view, 7> kSent = {
    "user",           "metadata",          "client_metadata", "stop",
    "stop_sequences", "safety_identifier", "prompt_cache_key"};
// Members of a definition with text for the model, or with values that the model may repeat.
constexpr std::array<std::string_view, 9> kProse = {
    "description", "server_description", "title",   "example",
    "examples",    "input_examples",     "default", "enum",
    "const"};
// Members of a schema whose own members have names that the application chose.
constexpr std::array<std::string_view, 7> kNamed = {
    "properties",       "patternProperties", "$defs",       "definitions",
    "dependentSchemas", "dependentRequired", "dependencies"};

constexpr std::array<std::string_view, 8> kLabels = {
    "id", "type", "role", "tool_call_id", "tool_use_id", "call_id", "media_type", "file_id"};
// Members of an item or a block that refer to other parts of the request.
constexpr std::array<std::string_view, 4> kReferences = {"server_name", "server_label",
                                                         "container_id", "approval_request_id"};
constexpr std::array<std::string_view, 3> kAddresses = {"image_url", "video_url", "audio_url"};
constexpr std::array<std::string_view, 7> kData = {"data",
                                                   "file_data",
                                                   "signature",
                                                   "thought_signature",
                                                   "encrypted_content",
                                                   "encrypted_index",
                                                   "encrypted_stdout"};
constexpr std::string_view kImageCall = "image_generation_call";  // its `result` is a picture
// Items with the definitions of tools.
constexpr std::array<std::string_view, 2> kToolLists = {"mcp_list_tools", "tool_search_output"};
// Objects whose members are labels, and objects whose `name` is that of a function.
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

bool is_identifying(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), ascii::is_digit)) >=
         kIdentifyingDigits;
}

/// Numbers below 1 are scores and probabilities.
bool is_identifying_number(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return !number.starts_with("0.") && is_identifying(number);
}

/// Returns whether the text is base64 in either alphabet, with or without the prefix of a `data:`
/// URL.
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
  /// Without a place, every string is kText and none is left out.
  Walk(std::optional<Place> place, const VisitText& visit) : Walk(place, visit, false, false) {}

  void value(const Value& value, std::string_view key) const {
    if (value.is_string()) visit_({kind_of_text(in_prose_), value.text(), value});
    if (value.is_number() && place_ != Place::kDefinition && is_identifying_number(value.raw()))
      visit_({Kind::kNumber, value.raw(), value});
    for (const Value& item : value.items()) this->value(item, key);
    members(value, key);
  }

  void members(const Value& object, std::string_view parent) const {
    const bool is_call = holds(kCalls, parent);
    for (const json::Member& member : object.members())
      this->member(member, parent, is_call && member.key == "name");
  }

  void member(const json::Member& member, std::string_view parent, bool is_name) const {
    if (!is_identifier(member.key) || is_identifying(member.key))
      visit_({Kind::kKey, member.key, member.value});
    if (!member.value.is_string()) {
      const bool in_prose = is_prose(member.key);
      const bool has_names = !in_prose && !has_names_ && holds(kNamed, member.key);
      return Walk(place_, visit_, in_prose, has_names).value(member.value, member.key);
    }
    const std::string_view text = member.value.text();
    if (is_skipped(parent, member.key, text)) return;
    visit_({kind_of(parent, member.key, is_name), text, member.value});
  }

 private:
  Walk(std::optional<Place> place, const VisitText& visit, bool in_prose, bool has_names)
      : place_(place), in_prose_(in_prose), has_names_(has_names), visit_(visit) {}

  bool is_prose(std::string_view key) const {
    return in_prose_ || (!has_names_ && holds(kProse, key));
  }

  bool is_skipped(std::string_view parent, std::string_view key, std::string_view text) const {
    if (!place_ || place_ == Place::kDefinition) return false;
    const bool address = holds(kAddresses, key) ||
                         (key == "url" && (holds(kAddresses, parent) || parent == "source"));
    if (place_ == Place::kMessage && address) return true;
    const bool picture = (key == "result" && parent == kImageCall) ||
                         (key == "url" && parent == "outputs");  // of a code interpreter
    return (picture || holds(kData, key)) && is_base64(text);
  }

  Kind kind_of(std::string_view parent, std::string_view key, bool is_name) const {
    if (!place_) return Kind::kText;
    if (holds(kLabels, key) || holds(kLabelled, parent)) return Kind::kLabel;
    if (is_name) return Kind::kName;
    return kind_of_text(is_prose(key));
  }

  Kind kind_of_text(bool in_prose) const {
    return in_prose || place_ != Place::kDefinition ? Kind::kText : Kind::kFixed;
  }

  std::optional<Place> place_;
  bool in_prose_;   // of a definition
  bool has_names_;  // the keys are names, so `title` is not the title of a schema
  const VisitText& visit_;
};

void append_line(std::string_view text, std::string& out) {
  if (text.empty()) return;
  if (!out.empty()) out.push_back('\n');
  out += text;
}

/// Appends the texts of a text that is JSON and for which `is_wanted`. Returns false, without a
/// change, if it is not JSON.
template <class IsWanted>
bool append_embedded(std::string_view text, std::string& out, const IsWanted& is_wanted) {
  const auto document = json_within(text);
  if (!document) return false;
  // A string that grows by itself takes three times its bytes meanwhile. Pages that stay empty take
  // no memory. Without its quotes, each text has room for its line end.
  out.reserve(out.size() + text.size());
  const VisitText visit = [&](const TextPiece& piece) {
    if (is_wanted(piece)) append_line(piece.text, out);
  };
  Walk(std::nullopt, visit).value(document->root(), "");
  return true;
}

}  // namespace

bool is_maskable(TextPiece::Kind kind) {
  return kind == Kind::kText || kind == Kind::kContent || kind == Kind::kNumber;
}

std::optional<Place> place_of(std::string_view key) {
  if (holds(kAttachments, key)) return Place::kAttachment;
  if (holds(kDefinitions, key)) return Place::kDefinition;
  if (holds(kSent, key)) return Place::kSent;
  return std::nullopt;
}

void visit_message_text(const Value& message, const VisitText& visit) {
  const Walk walk(Place::kMessage, visit);
  const auto role = message.find("role");
  const bool is_function_result =
      role && role->is_string() && (role->text() == "tool" || role->text() == "function");
  for (const json::Member& member : message.members()) {
    if (member.key != "content") {
      walk.member(member, "", is_function_result && member.key == "name");
      continue;
    }
    if (member.value.is_string()) visit({Kind::kContent, member.value.text(), member.value});
    for (const Value& part : member.value.items()) {
      for (const json::Member& each : part.members()) {
        const bool is_content = each.key == "text" || each.key == "refusal";
        if (is_content && each.value.is_string()) {
          visit({Kind::kContent, each.value.text(), each.value});
        } else {
          walk.member(each, "", false);
        }
      }
    }
  }
}

void visit_object_text(const Value& object, bool is_call, const VisitText& visit) {
  const Walk walk(Place::kMessage, visit);
  const auto member = object.find("type");
  const std::string_view type = member && member->is_string() ? member->text() : "";
  const std::string_view parent = type == kImageCall ? kImageCall : "";
  for (const json::Member& each : object.members()) {
    if (each.key == "tools" && holds(kToolLists, type)) {
      visit_text(each.value, Place::kDefinition, visit);
    } else {
      const bool is_name = (is_call && each.key == "name") || holds(kReferences, each.key);
      walk.member(each, parent, is_name);
    }
  }
}

void visit_text(const Value& value, Place place, const VisitText& visit) {
  Walk(place, visit).value(value, "");
}

void visit_sent_text(const Value& request, const VisitText& visit) {
  for (const json::Member& member : request.members()) {
    if (place_of(member.key) == Place::kSent) visit_text(member.value, Place::kSent, visit);
  }
}

std::optional<json::Document> json_within(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '['))
    return std::nullopt;
  auto document = json::Document::parse(std::string(text));
  if (!document) return std::nullopt;
  return *std::move(document);
}

void append_text(const TextPiece& piece, std::string& out) {
  if (piece.kind == Kind::kLabel && is_identifier(piece.text)) return;
  const auto every = [](const TextPiece&) { return true; };
  if (piece.kind == Kind::kKey || !append_embedded(piece.text, out, every))
    append_line(piece.text, out);
}

void append_escaped(std::string_view text, std::string& out) {
  if (text.find('\\') == std::string_view::npos) return;
  append_embedded(text, out, [](const TextPiece& piece) {
    const size_t quoted = piece.value.end() - piece.value.begin();
    return piece.kind == Kind::kKey || (piece.value.is_string() && quoted != piece.text.size() + 2);
  });
}

}  // namespace signalbox::request
