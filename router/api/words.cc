// Recursion is as deep as the parser lets a document nest. Escapes are resolved on the way, also
// those of the JSON within a text: written \u0069gnore a word would be read by the model alone.

#include "router/api/words.h"

#include <algorithm>
#include <string_view>

namespace signalbox::router {
namespace {

constexpr size_t kIdentifierMax = 64;

bool is_identifier(std::string_view text) {
  const auto outside = [](char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '$');
  };
  return text.size() <= kIdentifierMax && std::none_of(text.begin(), text.end(), outside);
}

void append_line(std::string_view text, std::string& out) {
  if (text.empty()) return;
  if (!out.empty()) out.push_back('\n');
  out += text;
}

void append(const json::Value& value, bool opens, std::string& out);

void append_text(std::string_view text, bool opens, std::string& out) {
  if (opens && (text.starts_with('{') || text.starts_with('['))) {
    if (const auto within = json::Document::parse(std::string(text)))
      return append(within->root(), false, out);
  }
  append_line(text, out);
}

void append(const json::Value& value, bool opens, std::string& out) {
  if (value.is_string()) return append_text(value.text(), opens, out);
  for (const json::Value& item : value.items()) append(item, opens, out);
  for (const json::Member& member : value.members()) {
    const bool labels = member.key == "id" || member.key == "type";
    if (labels && member.value.is_string() && is_identifier(member.value.text())) continue;
    if (!is_identifier(member.key)) append_line(member.key, out);
    append(member.value, opens, out);
  }
}

}  // namespace

void append_words(const json::Value& value, std::string& out) {
  append(value, true, out);
}

}  // namespace signalbox::router
