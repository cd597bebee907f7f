#pragma once
// The merges of a sentencepiece model of kind BPE, which has none: it joins the two neighbours that
// make the piece with the best score, and so every way to make a piece of two others is a merge.

#include <cstdint>
#include <utility>
#include <vector>

#include "tools/sentencepiece_model.h"

namespace signalbox::tools {

struct Merge {
  int32_t left;  // ids
  int32_t right;
};

/// The best first: by the score of what they make, then by the length of the left piece and of the
/// right one in code points, the longer first, then by the ids of what they make, of the left and
/// of the right. Only normal and user-defined pieces take part.
std::vector<Merge> merges_of(const SentencePieceModel& model);

}  // namespace signalbox::tools
