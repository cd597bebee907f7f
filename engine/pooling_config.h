#pragma once
// What a sentence-transformers directory says about making embeddings: modules.json and the files
// it names.

#include <filesystem>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::engine {

struct PoolingConfig {
  Pooling pooling = Pooling::kMean;
  int32_t tokens_max = 0;  // of one text; 0: the network's own limit
};

/// The mean over all tokens without a modules.json. Errors: kUnsupported for a module or a pooling
/// that is not built, kCorrupt, each naming the file.
Result<PoolingConfig> read_pooling_config(const std::filesystem::path& directory, int32_t hidden);

}  // namespace signalbox::engine
