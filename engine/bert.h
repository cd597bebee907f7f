#pragma once
// The forward pass of BERT and of the encoders that are built like it.

#include "engine/bert_config.h"
#include "engine/trunk.h"

namespace signalbox::engine {

/// open_trunk() for the families of bert_config.h.
Result<std::unique_ptr<const Trunk>> open_bert(BertConfig bert, const weights::SafeTensors& file,
                                               const TrunkOptions& options);

}  // namespace signalbox::engine
