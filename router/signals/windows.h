#pragma once
// A long text in pieces that a model reads whole. A model that cuts on the right would let anyone
// hide behind padding.

#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace signalbox::router {

/// What a request may cost one signal. A short text costs a sixteenth of a window.
inline constexpr size_t kWindowsMax = 256;

struct Windows {
  std::vector<std::string_view> pieces;
  bool whole = true;  // together they hold every byte of what was given
};

/// A byte for each token that the model takes, special tokens left out: punctuation and byte-level
/// tokenizers come to that, so that no window is cut, but for normalisers that make one character
/// several.
size_t window_bytes(const engine::TextModel& model);

/// Pieces of at most `bytes` (64 at least) that overlap by an eighth and end where a character
/// does, of the texts in their order, empty ones left out. Of a text that has more than kWindowsMax
/// leaves, the first, the last and evenly chosen ones between remain; what then follows is left
/// out.
Windows windows_of(const std::vector<std::string_view>& texts, size_t bytes);

}  // namespace signalbox::router
