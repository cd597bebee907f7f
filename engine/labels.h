#pragma once
// The names of a head's classes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// `count` names. A mapping file beside the config (category_mapping.json, pii_type_mapping.json,
/// jailbreak_type_mapping.json) says more than the config's id2label, which says more than nothing
/// ("LABEL_0" and so on). kCorrupt, naming the file, when one of them does not name exactly the
/// classes 0 to count - 1.
Result<std::vector<std::string>> read_labels(const std::filesystem::path& directory,
                                             const weights::HfConfig& config, int32_t count);

}  // namespace signalbox::engine
