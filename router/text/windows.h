#pragma once
// A long text in pieces that a model reads whole. A model that cuts on the right would let anyone
// hide behind padding.

#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace signalbox::text {

/// What a request may cost one signal. A short text costs a sixteenth of a window.
inline constexpr size_t kWindowsMax = 256;

struct Windows {
  std::vector<std::string_view> pieces;
  std::vector<size_t> of;  // (pieces) which of the texts each is of
  bool whole = true;       // together they hold every byte of what was given
};

/// Tokens that a classifier reads at a time: more would blur what little of a long text matters,
/// and attention costs the square. Neighbours share an eighth.
inline constexpr int32_t kWindowTokens = 256;

/// Pieces of at most kWindowTokens tokens of the model, of the texts in their order, empty ones
/// left out. Of a text that has more than kWindowsMax leaves, the first, the last and evenly chosen
/// ones between remain; what then follows is left out. Errors are the model's.
Result<Windows> windows_of(const std::vector<std::string_view>& texts,
                           const engine::TextModel& model);

/// The same of at most `bytes` bytes (64 at least) that end where a character does.
Windows windows_of(const std::vector<std::string_view>& texts, size_t bytes);

}  // namespace signalbox::text
