#pragma once
// Derives the files of a Hugging Face model directory from the metadata of a GGUF file.

#include <map>
#include <string>

#include "base/error.h"
#include "weights/gguf.h"

namespace signalbox::tools {

/// Returns texts by file name: config.json; tokenizer.json and tokenizer_config.json if the
/// vocabulary is BERT's own WordPiece; modules.json and 1_Pooling/config.json if the model pools by
/// its first or last token. Precondition: `tensors` have Hugging Face's names. kCorrupt if metadata
/// that config.json needs is missing; kUnsupported for a pooling that the engine lacks.
Result<std::map<std::string, std::string>> gguf_to_hf(const weights::Gguf& file,
                                                      const weights::TensorList& tensors);

}  // namespace signalbox::tools
