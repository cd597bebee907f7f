#pragma once
// Converts a sentencepiece model to a tokenizer.json that splits text the same way.

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tools/vocabulary/hf_sections.h"
#include "tools/vocabulary/sentencepiece_model.h"

namespace signalbox::tools {

struct SentencePieceToHfOptions {
  HfMarks marks = {};  // pieces of the model
  /// Replaces the added tokens that follow from the types of pieces.
  std::optional<std::vector<HfAddedToken>> added_tokens = {};
  /// Sections as JSON, which replace those that follow from the model's settings; "": none.
  std::string normalizer = {};
  std::string pre_tokenizer = {};
};

/// Derives scores, merges, normalizer, Metaspace and added tokens as Hugging Face's converter does,
/// except where sentencepiece itself behaves differently: the space mark is added only at the start
/// of a text, not after added tokens; words are not split where pieces extend across spaces; byte
/// fallback is kept; control and byte pieces take no part in merges; leading spaces are stripped if
/// no mark is added in front. Two things still differ from sentencepiece: a text that begins with a
/// user-defined piece has no mark in front of it, and a space in front of a user-defined piece is
/// lost if the model removes extra spaces and its normalizer would change the piece. Errors: those
/// of merges_of().
Result<std::string> sentencepiece_to_hf(const SentencePieceModel& model,
                                        const SentencePieceToHfOptions& options);

/// Returns the marks that put the model's <s> in front of every text (`begin`) and its </s> after
/// it (`end`). Errors: kInvalid if the model lacks such a piece.
Result<HfMarks> sentencepiece_marks(const SentencePieceModel& model, bool begin, bool end);

/// Returns the tokens that a text may contain by their types: control and user-defined pieces. If
/// extra spaces are removed, user-defined pieces are found after that: otherwise each part between
/// them would lose its last space. A piece that the model's normalizer would change is found before
/// it, because the normalised text no longer contains it.
std::vector<HfAddedToken> added_pieces(const SentencePieceModel& model);

/// Returns whether a piece contains a space mark anywhere but at its beginning.
bool reaches_across_spaces(const SentencePieceModel& model);

}  // namespace signalbox::tools
