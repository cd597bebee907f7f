#pragma once
// The settings for embeddings in a sentence-transformers directory: modules.json and the files it
// names.

#include <filesystem>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::engine {

struct PoolingConfig {
  Pooling pooling = Pooling::kMean;
  int32_t tokens_max = 0;  // limit per text; 0: the network's own limit
  /// Directories of the dense layers after pooling, in their order (dense_layers.h).
  std::vector<std::filesystem::path> dense = {};
};

/// Without a modules.json, the directories 1_Pooling, 2_Dense and 3_Dense count if they exist.
/// `otherwise` is the pooling of a directory that names none. Errors: kUnsupported for an
/// unsupported module or pooling; kCorrupt. Both name the file.
Result<PoolingConfig> read_pooling_config(const std::filesystem::path& directory, int32_t hidden,
                                          Pooling otherwise = Pooling::kMean);

}  // namespace signalbox::engine
