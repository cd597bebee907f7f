// Windows are views: nothing is copied.

#include "router/signals/windows.h"

#include <algorithm>

namespace signalbox::router {
namespace {

constexpr size_t kSpecialTokensMax = 8;
constexpr size_t kBytesMin = 64;

// The beginning of the character that `at` lies in; of bytes that are none, `at`.
size_t character_start(std::string_view text, size_t at) {
  constexpr size_t kContinuationsMax = 3;
  for (size_t back = 0; back <= std::min(kContinuationsMax, at) && at < text.size(); ++back) {
    if ((static_cast<unsigned char>(text[at - back]) & 0xC0) != 0x80) return at - back;
  }
  return at;
}

}  // namespace

size_t window_bytes(const engine::TextModel& model) {
  const auto tokens = static_cast<size_t>(std::max(model.tokens_max(), 0));
  return tokens - std::min(tokens, kSpecialTokensMax);
}

std::vector<std::string_view> windows_of(std::string_view text, size_t bytes) {
  bytes = std::max(bytes, kBytesMin);
  std::vector<std::string_view> all;
  for (size_t begin = 0; begin < text.size() || all.empty();) {
    const size_t end = character_start(text, std::min(begin + bytes, text.size()));
    all.push_back(text.substr(begin, end - begin));
    if (end == text.size()) break;
    begin = character_start(text, end - bytes / 8);
  }
  if (all.size() <= kWindowsMax) return all;
  std::vector<std::string_view> chosen;
  for (size_t i = 0; i < kWindowsMax; ++i)
    chosen.push_back(all[i * (all.size() - 1) / (kWindowsMax - 1)]);
  return chosen;
}

std::vector<std::string_view> windows_of(const std::vector<std::string_view>& texts, size_t bytes) {
  std::vector<std::string_view> all;
  for (const std::string_view text : texts) {
    if (text.empty()) continue;
    for (const std::string_view window : windows_of(text, bytes)) {
      if (all.size() == kWindowsOfTextsMax) return all;
      all.push_back(window);
    }
  }
  return all;
}

}  // namespace signalbox::router
