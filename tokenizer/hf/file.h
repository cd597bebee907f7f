#pragma once
// Reads Hugging Face's tokenizer.json. Everything in the file is implemented exactly or rejected:
// an unsupported component is kUnsupported with its name and path; a file that contradicts itself
// is kCorrupt with the path of the value.

#include <memory>
#include <string>

#include "base/error.h"
#include "tokenizer/compiled.h"
#include "tokenizer/hf/settings.h"
#include "tokenizer/pipeline.h"

namespace signalbox::tokenizer {

/// Reads the whole file, with the changes of `settings`. If `tables` (from a compiled form) is
/// given, the JSON's vocabulary and merges are not read. Errors contain the path inside the file,
/// not the file name.
Result<Pipeline::Parts> read_hf_json(std::string json, const Settings& settings,
                                     const BpeTables* tables = nullptr);

}  // namespace signalbox::tokenizer
