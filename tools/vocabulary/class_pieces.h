#pragma once
// Makes the tokenizer.json of a class from its sentencepiece model and its settings.

#include <string>
#include <string_view>

#include "base/error.h"
#include "tools/vocabulary/vocabulary_class.h"

namespace signalbox::tools {

/// `bytes` are the file that the class names; its kind is one of sentencepiece's: kDeberta,
/// kXlmRoberta, kCamembert, kAlbert, kT5, kLlama or kGemma. The result has the ids, the marks and
/// the normalisation that Hugging Face's library gives the class. Published files split words at
/// white space, and so does the result where the model joins no words. Errors name the file: those
/// of SentencePieceModel::parse() and sentencepiece_to_hf(); kCorrupt if pieces of the class are
/// missing or already there.
Result<std::string> class_tokenizer(const VocabularyClass& tokenizer, std::string_view bytes,
                                    const tokenizer::Settings& settings);

}  // namespace signalbox::tools
