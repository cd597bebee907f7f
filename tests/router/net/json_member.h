#pragma once
// Reads members of JSON replies.

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace signalbox::test {

/// Returns a member of a JSON object by a path of keys and indices: "error.code".
inline std::string member(const std::string& body, std::string_view path) {
  const auto document = json::Document::parse(body);
  if (!document) return "not JSON: " + body;
  std::optional<json::Value> at = document->root();
  while (at && !path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    const std::string_view key = path.substr(0, dot);
    path.remove_prefix(std::min(dot + 1, path.size()));
    if (at->is_object()) {
      at = at->find(key);
      continue;
    }
    std::optional<json::Value> found;
    size_t left = static_cast<size_t>(std::atoi(std::string(key).c_str()));
    for (const json::Value item : at->items()) {
      if (left-- == 0) found = item;
    }
    at = found;
  }
  if (!at) return "none";
  return at->is_string() ? std::string(at->text()) : std::string(at->raw());
}

}  // namespace signalbox::test
