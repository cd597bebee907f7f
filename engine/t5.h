#pragma once
// The forward pass of T5's encoder.

#include "engine/trunk.h"

namespace signalbox::engine {

/// open_trunk() for model_type t5.
Result<std::unique_ptr<const Trunk>> open_t5(const weights::HfConfig& config,
                                             const weights::SafeTensors& file,
                                             const TrunkOptions& options);

}  // namespace signalbox::engine
