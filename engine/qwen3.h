#pragma once
// Qwen3: Yang et al., "Qwen3 Technical Report", 2025; as an embedder: Zhang et al., "Qwen3
// Embedding", 2025. Tensor names are those of Hugging Face.

#include "engine/trunk.h"

namespace signalbox::engine {

/// See open_trunk().
Result<std::unique_ptr<const Trunk>> open_qwen3(const weights::HfConfig& config,
                                                const weights::SafeTensors& file,
                                                const TrunkOptions& options);

}  // namespace signalbox::engine
