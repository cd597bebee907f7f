#pragma once
// Makes a tokenizer.json from the vocabulary of a model that has none.

#include <string>

#include "base/error.h"
#include "tools/vocabulary/vocabulary_class.h"

namespace signalbox::tools {

/// Reads the files of the class and the settings, and returns the tokenizer.json that Hugging
/// Face's library would make from them. Errors name the file: those of wordpiece_to_hf(),
/// class_tokenizer() and byte_pair_tokenizer(); those of reading.
Result<std::string> make_tokenizer(const VocabularyClass& tokenizer, const ModelFiles& files);

}  // namespace signalbox::tools
