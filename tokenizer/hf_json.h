#pragma once
// Reads Hugging Face's tokenizer.json. What it describes is built exactly or refused: a component
// that does not exist here is kUnsupported by its name and path, a file that contradicts itself is
// kCorrupt with the path of the value.

#include <memory>
#include <string>

#include "base/error.h"
#include "tokenizer/compiled.h"
#include "tokenizer/pipeline.h"

namespace signalbox::tokenizer {

/// The whole file. With `tables`, those of a compiled form, the model's own vocabulary and merges
/// are not read. Errors carry the path inside the file, not the file's name.
Result<Pipeline::Parts> read_hf_json(std::string json, const BpeTables* tables = nullptr);

}  // namespace signalbox::tokenizer
