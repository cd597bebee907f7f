#pragma once
// How much each sentence of a text tells of it.

#include <vector>

#include "router/compress/compress.h"
#include "router/compress/sentences.h"

namespace signalbox::compress {

/// Of a sentence that has no terms, or those of an earlier one in the same order.
inline constexpr float kLeftOut = -1;

/// (sentences) 0 to 1, or kLeftOut. Linear in the text (compress.h).
std::vector<float> rank(const Sentences& text, const Options& options);

}  // namespace signalbox::compress
