#pragma once
// The forward pass of BERT and RoBERTa.

#include "engine/trunk.h"

namespace signalbox::engine {

/// open_trunk() for model_type bert, roberta and xlm-roberta.
Result<std::unique_ptr<const Trunk>> open_bert(const weights::HfConfig& config,
                                               const weights::SafeTensors& file,
                                               const TrunkOptions& options);

}  // namespace signalbox::engine
