#pragma once
// Parses texts in which <<TYPE ...>> marks the expected findings.

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "router/safety/pii/rules.h"

namespace signalbox::pii {

struct MarkedText {
  explicit MarkedText(std::string_view marked) {
    size_t at = 0;
    for (;;) {
      size_t open = marked.find("<<", at);
      while (open != std::string_view::npos && !is_mark(marked.substr(open + 2)))
        open = marked.find("<<", open + 1);
      if (open == std::string_view::npos) break;
      const size_t space = marked.find(' ', open);
      const size_t close = marked.find(">>", space);
      plain += marked.substr(at, open - at);
      const size_t begin = plain.size();
      plain += marked.substr(space + 1, close - space - 1);
      entities.push_back({std::string(marked.substr(open + 2, space - open - 2)), begin,
                          plain.size(), 1.0, PiiSource::kRule});
      at = close + 2;
    }
    plain += marked.substr(at);
  }

  std::string plain;
  std::vector<PiiEntity> entities;

 private:
  static bool is_mark(std::string_view text) {
    return text.size() > 2 && text[0] >= 'A' && text[0] <= 'Z' &&
           (text[1] == '_' || (text[1] >= 'A' && text[1] <= 'Z'));
  }
};

/// Returns one line "TYPE@4: value" for each entity.
inline std::string described(std::string_view text, const std::vector<PiiEntity>& entities) {
  std::string out;
  for (const PiiEntity& entity : entities) {
    out += fmt::format("{}@{}: {}\n", entity.type, entity.begin,
                       text.substr(entity.begin, entity.end - entity.begin));
  }
  return out;
}

}  // namespace signalbox::pii
