#pragma once
// Reads Hugging Face's tokenizer.json. What it describes is built exactly or refused: a component
// that does not exist here is kUnsupported by its name and path, a file that contradicts itself is
// kCorrupt with the path of the value.

#include <memory>
#include <string>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// The whole file. Errors carry the path inside the file, not the file's name.
Result<std::unique_ptr<const Tokenizer>> read_hf_json(std::string json);

}  // namespace signalbox::tokenizer
