#pragma once
// The forward pass of DeBERTa-v2 and DeBERTa-v3.

#include "engine/trunk.h"

namespace signalbox::engine {

/// open_trunk() for model_type deberta-v2.
Result<std::unique_ptr<const Trunk>> open_deberta(const weights::HfConfig& config,
                                                  const weights::SafeTensors& file,
                                                  const TrunkOptions& options);

}  // namespace signalbox::engine
