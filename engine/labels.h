#pragma once
// The class names of a head.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// Returns `count` names. A mapping file in the directory (category_mapping.json,
/// pii_type_mapping.json, jailbreak_type_mapping.json) takes precedence over the config's id2label.
/// Without either, the names are "LABEL_0" and so on. kCorrupt with the file's name if the names do
/// not cover exactly the classes 0 to count - 1.
Result<std::vector<std::string>> read_labels(const std::filesystem::path& directory,
                                             const weights::HfConfig& config, int32_t count);

}  // namespace signalbox::engine
