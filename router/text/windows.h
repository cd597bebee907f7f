#pragma once
// Splits a long text into windows that a model reads completely. If the text were only truncated,
// an attacker could hide text behind padding.

#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/engine.h"

namespace signalbox::text {

/// Limit per request and signal. A short text costs a sixteenth of a window.
inline constexpr size_t kWindowsMax = 256;

struct Windows {
  std::vector<std::string_view> pieces;
  std::vector<size_t> of;  // (pieces): index of the text
  bool whole = true;       // false: some text was left out because of the limit
};

/// Neighbouring windows overlap by an eighth.
using engine::kWindowTokens;

/// Splits the texts, in their order and without empty ones, into windows of at most kWindowTokens
/// tokens of the model. If a text exceeds what is left of `windows_max`, its first, its last and
/// evenly chosen windows between are used, and later texts are left out. Returns the model's
/// errors.
Result<Windows> windows_of(const std::vector<std::string_view>& texts,
                           const engine::TextModel& model, size_t windows_max = kWindowsMax);

/// The same with windows of at most `bytes` bytes (at least 64) that end at a character boundary.
Windows windows_of(const std::vector<std::string_view>& texts, size_t bytes);

/// Splits a long text at places that its bytes nearby determine, and returns the parts that are not
/// in `seen`, in order and without repeated ones; adds them to `seen`. A part includes the
/// beginning of the next one, so that a passage across a boundary is whole in one part. A text of
/// up to 16 KB is one part.
std::vector<std::string_view> distinct_parts(std::string_view text,
                                             std::unordered_set<std::string_view>& seen);

}  // namespace signalbox::text
