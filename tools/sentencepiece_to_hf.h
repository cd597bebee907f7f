#pragma once
// A sentencepiece model as the tokenizer.json that cuts text the same way.

#include <string>

#include "tools/sentencepiece_model.h"

namespace signalbox::tools {

struct SentencePieceToHfOptions {
  bool begin = false;  // puts the model's <s> in front of every text
  bool end = false;    // and its </s> behind
};

/// Scores, merges, normalizer, Metaspace and added tokens as Hugging ClientApi's converter derives
/// them, with these differences, each towards what sentencepiece does: the mark of a space is put
/// in front of the text and not behind added tokens too; words are not cut apart where pieces reach
/// across spaces; byte fallback is kept; control and byte pieces take no part in merges; leading
/// spaces are stripped where no mark is put in front. Errors: kInvalid, where an option names a
/// piece that the model does not have.
Result<std::string> sentencepiece_to_hf(const SentencePieceModel& model,
                                        const SentencePieceToHfOptions& options);

}  // namespace signalbox::tools
