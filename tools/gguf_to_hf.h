#pragma once
// The files of a Hugging ClientApi model directory that the metadata of a GGUF file has an answer
// for.

#include <map>
#include <string>

#include "base/error.h"
#include "weights/gguf.h"

namespace signalbox::tools {

/// Texts by file name: config.json; tokenizer.json when the vocabulary is BERT's own WordPiece;
/// modules.json and 1_Pooling/config.json when the model pools by its first or last token.
/// Precondition: `tensors` have Hugging ClientApi's names. kCorrupt when metadata that config.json
/// needs is missing; kUnsupported for a pooling that the engine lacks.
Result<std::map<std::string, std::string>> gguf_to_hf(const weights::Gguf& file,
                                                      const weights::TensorList& tensors);

}  // namespace signalbox::tools
