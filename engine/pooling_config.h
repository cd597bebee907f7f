#pragma once
// The settings for embeddings in a sentence-transformers directory: modules.json and the files it
// names.

#include <filesystem>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::engine {

struct PoolingConfig {
  Pooling pooling = Pooling::kMean;
  int32_t tokens_max = 0;  // limit per text; 0: the network's own limit
};

/// Without a modules.json the pooling is the mean over all tokens. Errors: kUnsupported for an
/// unsupported module or pooling; kCorrupt. Both name the file.
Result<PoolingConfig> read_pooling_config(const std::filesystem::path& directory, int32_t hidden);

}  // namespace signalbox::engine
