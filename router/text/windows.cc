// Windows are views of the text; nothing is copied.

#include "router/text/windows.h"

#include <algorithm>
#include <cstdint>

namespace signalbox::text {
namespace {

constexpr size_t kBytesMin = 64;

// Returns the start of the character that contains `at`; `at` itself for invalid bytes.
size_t character_start(std::string_view text, size_t at) {
  constexpr size_t kContinuationsMax = 3;
  for (size_t back = 0; back <= std::min(kContinuationsMax, at) && at < text.size(); ++back) {
    if ((static_cast<unsigned char>(text[at - back]) & 0xC0) != 0x80) return at - back;
  }
  return at;
}

std::vector<std::string_view> split_bytes(std::string_view text, size_t bytes) {
  std::vector<std::string_view> all;
  for (size_t begin = 0;;) {
    const size_t end = character_start(text, std::min(begin + bytes, text.size()));
    all.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return all;
    begin = character_start(text, end - bytes / 8);
  }
}

// Takes the pieces that `pieces_of` returns for each text, as many as fit into `windows_max`
// windows. A piece costs its bytes, at least a sixteenth of `bytes`.
template <class PiecesOf>
Result<Windows> take_pieces(const std::vector<std::string_view>& texts, size_t bytes,
                            size_t windows_max, const PiecesOf& pieces_of) {
  Windows out;
  size_t left = windows_max * bytes;
  for (size_t t = 0; t < texts.size(); ++t) {
    const std::string_view text = texts[t];
    if (text.empty()) continue;
    SIGNALBOX_TRY(const std::vector<std::string_view> all, pieces_of(text));
    const size_t cost = std::max(std::min(text.size(), bytes), bytes / 16);
    const size_t fit = left / cost;
    out.of.insert(out.of.end(), std::min(all.size(), fit), t);
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

// A hash of the last 64 bytes, updated byte by byte (the gear hash of Xia and others, 2014).
uint64_t gear(uint64_t hash, char c) {
  uint64_t z = (static_cast<unsigned char>(c) + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 29)) * 0xBF58476D1CE4E5B9;
  return (hash << 1) + (z ^ (z >> 32));
}

}  // namespace

std::vector<std::string_view> distinct_parts(std::string_view text,
                                             std::unordered_set<std::string_view>& seen) {
  // Long enough that the shared beginnings cost little, short enough that most of a repetition of
  // some pages is recognised.
  constexpr size_t kShort = 16 << 10, kPartMin = 2 << 10, kPartMax = 16 << 10, kShared = 256;
  constexpr uint64_t kBoundary = (uint64_t{1} << 11) - 1;  // one place in 2048
  std::vector<std::string_view> out;
  if (text.size() <= kShort) {
    if (seen.insert(text).second) out.push_back(text);
    return out;
  }
  uint64_t hash = 0;
  for (size_t begin = 0, at = 0; at < text.size(); ++at) {
    hash = gear(hash, text[at]);
    const size_t bytes = at + 1 - begin;
    const bool ends = (bytes >= kPartMin && (hash >> 32 & kBoundary) == 0) || bytes >= kPartMax ||
                      at + 1 == text.size();
    if (!ends) continue;
    const size_t from = character_start(text, begin);
    const size_t to = character_start(text, std::min(at + 1 + kShared, text.size()));
    const std::string_view part = text.substr(from, to - from);
    if (seen.insert(part).second) out.push_back(part);
    begin = at + 1;
  }
  return out;
}

Result<Windows> windows_of(const std::vector<std::string_view>& texts,
                           const engine::TextModel& model, size_t windows_max) {
  const int32_t tokens = std::min(model.tokens_max(), kWindowTokens);
  if (tokens < engine::kWindowTokensMin)
    return fail(Code::kInvalid, "a model that reads at most {} tokens is too small for text",
                tokens);
  // A token is about four bytes of prose. Denser text has smaller windows, so fewer of its bytes
  // fit.
  return take_pieces(
      texts, 4 * static_cast<size_t>(tokens), windows_max,
      [&](std::string_view text) { return model.windows(text, tokens, tokens / 8); });
}

Windows windows_of(const std::vector<std::string_view>& texts, size_t bytes) {
  bytes = std::max(bytes, kBytesMin);
  const auto pieces_of = [&](std::string_view text) -> Result<std::vector<std::string_view>> {
    return split_bytes(text, bytes);
  };
  return *take_pieces(texts, bytes, kWindowsMax, pieces_of);
}

}  // namespace signalbox::text
