#pragma once
// Gemma 3's text model: Gemma Team, "Gemma 3 Technical Report", 2025; as an embedder that attends
// both ways: Vera et al., "EmbeddingGemma", 2025. Tensor names are those of Hugging Face.

#include "engine/trunk.h"

namespace signalbox::engine {

/// See open_trunk().
Result<std::unique_ptr<const Trunk>> open_gemma3(const weights::HfConfig& config,
                                                 const weights::SafeTensors& file,
                                                 const TrunkOptions& options);

}  // namespace signalbox::engine
