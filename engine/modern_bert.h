#pragma once
// The forward pass of ModernBERT.

#include "engine/trunk.h"

namespace signalbox::engine {

/// open_trunk() for model_type modernbert.
Result<std::unique_ptr<const Trunk>> open_modern_bert(const weights::HfConfig& config,
                                                      const weights::SafeTensors& file,
                                                      const TrunkOptions& options);

}  // namespace signalbox::engine
