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

std::vector<std::string_view> cut(std::string_view text, size_t bytes) {
  std::vector<std::string_view> all;
  for (size_t begin = 0;;) {
    const size_t end = character_start(text, std::min(begin + bytes, text.size()));
    all.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return all;
    begin = character_start(text, end - bytes / 8);
  }
}

}  // namespace

size_t window_bytes(const engine::TextModel& model) {
  const auto tokens = static_cast<size_t>(std::max(model.tokens_max(), 0));
  return tokens - std::min(tokens, kSpecialTokensMax);
}

Windows windows_of(const std::vector<std::string_view>& texts, size_t bytes) {
  bytes = std::max(bytes, kBytesMin);
  Windows out;
  size_t left = kWindowsMax * bytes;  // a window costs its bytes, or a sixteenth of the most
  for (const std::string_view text : texts) {
    if (text.empty()) continue;
    const std::vector<std::string_view> all = cut(text, bytes);
    const size_t cost = std::max(std::min(text.size(), bytes), bytes / 16);
    const size_t fit = left / cost;
    if (all.size() <= fit) {
      out.pieces.insert(out.pieces.end(), all.begin(), all.end());
      left -= all.size() * cost;
      continue;
    }
    out.whole = false;
    for (size_t i = 0; i < fit; ++i)
      out.pieces.push_back(all[fit == 1 ? 0 : i * (all.size() - 1) / (fit - 1)]);
    break;
  }
  return out;
}

}  // namespace signalbox::router
