#pragma once
// A long text in pieces that a model reads whole. A model that cuts on the right would let anyone
// hide behind padding.

#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace signalbox::router {

inline constexpr size_t kWindowsMax = 32;

/// A byte for each token that the model takes, special tokens left out: punctuation and byte-level
/// tokenizers come to that, so that no window is cut, but for normalisers that make one character
/// several.
size_t window_bytes(const engine::TextModel& model);

/// Pieces of at most `bytes` (64 at least) that overlap by an eighth and end where a character
/// does. Of more than kWindowsMax, the first, the last and evenly chosen ones between remain.
std::vector<std::string_view> windows_of(std::string_view text, size_t bytes);

/// The pieces of several texts, empty ones left out, in their order: of each as above, and of all
/// the first kWindowsOfTextsMax.
inline constexpr size_t kWindowsOfTextsMax = 64;
std::vector<std::string_view> windows_of(const std::vector<std::string_view>& texts, size_t bytes);

}  // namespace signalbox::router
