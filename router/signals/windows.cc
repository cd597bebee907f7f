// Windows are views: nothing is copied.

#include "router/signals/windows.h"

#include <algorithm>

namespace signalbox::router {
namespace {

constexpr size_t kBytesPerToken = 2;
constexpr size_t kBytesMin = 64;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

size_t window_bytes(const engine::TextModel& model) {
  return static_cast<size_t>(std::max(model.tokens_max(), 0)) * kBytesPerToken;
}

std::vector<std::string_view> windows_of(std::string_view text, size_t bytes) {
  bytes = std::max(bytes, kBytesMin);
  std::vector<std::string_view> all;
  for (size_t begin = 0; begin < text.size() || all.empty();) {
    size_t end = std::min(begin + bytes, text.size());
    while (end < text.size() && end > begin && continues_character(text[end])) --end;
    all.push_back(text.substr(begin, end - begin));
    if (end == text.size()) break;
    begin = end - bytes / 8;
    while (begin < end && continues_character(text[begin])) ++begin;
  }
  if (all.size() <= kWindowsMax) return all;
  std::vector<std::string_view> chosen;
  for (size_t i = 0; i < kWindowsMax; ++i)
    chosen.push_back(all[i * (all.size() - 1) / (kWindowsMax - 1)]);
  return chosen;
}

}  // namespace signalbox::router
