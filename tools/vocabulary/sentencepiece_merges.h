#pragma once
// Derives the merges of a sentencepiece BPE model. The model file has no list of merges:
// sentencepiece joins the two neighbours that form the piece with the best score, so every way to
// form a piece from two others is a merge.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tools/vocabulary/sentencepiece_model.h"

namespace signalbox::tools {

struct Merge {
  int32_t left;  // ids
  int32_t right;
};

/// Returns the best merges first: ordered by the score of the piece that they form; then by the
/// length of the left piece and of the right piece in code points, longer first; then by the ids of
/// the formed, the left and the right piece. Only normal and user-defined pieces take part. Errors:
/// kTooLarge for pieces that would take seconds or gigabytes.
Result<std::vector<Merge>> merges_of(const SentencePieceModel& model);

}  // namespace signalbox::tools
