#pragma once
// Converts a sentencepiece model to a tokenizer.json that splits text the same way.

#include <string>

#include "tools/sentencepiece_model.h"

namespace signalbox::tools {

struct SentencePieceToHfOptions {
  bool begin = false;        // puts the model's <s> in front of every text
  bool end = false;          // puts its </s> after every text
  bool begin_second = true;  // `begin` also holds for the second text of a pair
};

/// Derives scores, merges, normalizer, Metaspace and added tokens as Hugging Face's converter does,
/// except where sentencepiece itself behaves differently: the space mark is added only at the start
/// of a text, not after added tokens; words are not split where pieces extend across spaces; byte
/// fallback is kept; control and byte pieces take no part in merges; leading spaces are stripped if
/// no mark is added in front. Errors: kInvalid if an option names a piece that the model lacks.
Result<std::string> sentencepiece_to_hf(const SentencePieceModel& model,
                                        const SentencePieceToHfOptions& options);

}  // namespace signalbox::tools
