#pragma once
// Makes a tokenizer.json from the vocabulary and the merges of RoBERTa, GPT-2 or Qwen, which work
// on bytes.

#include <string>
#include <string_view>

#include "base/error.h"
#include "tools/vocabulary/vocabulary_class.h"

namespace signalbox::tools {

/// `vocabulary` is vocab.json, an object of pieces and ids. `merges` is merges.txt: lines of two
/// pieces, the best first, under an optional line "#version". The class is kRoberta, kGpt2 or
/// kQwen2. Errors: kCorrupt with the file and the line, also for a merge whose pieces or result the
/// vocabulary lacks.
Result<std::string> byte_pair_tokenizer(const VocabularyClass& tokenizer, std::string vocabulary,
                                        std::string_view merges,
                                        const tokenizer::Settings& settings);

}  // namespace signalbox::tools
