#pragma once
// Scores the sentences of a text by how much information they give about it.

#include <vector>

#include "router/compress/compress.h"
#include "router/compress/sentences.h"

namespace signalbox::compress {

/// Score of a sentence that has no terms or repeats the terms of an earlier one.
inline constexpr float kLeftOut = -1;

/// Returns (sentences): 0 to 1, or kLeftOut. Takes linear time (compress.h).
std::vector<float> rank(const Sentences& text, const Options& options);

}  // namespace signalbox::compress
