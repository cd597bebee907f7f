#pragma once
// The parameters of an encoder built like BERT, laid out for the forward pass. Matrices are packed.
// The token table stays as it is in the file: it is half of a small model's size, and only the rows
// of the current tokens are read.

#include <optional>
#include <vector>

#include "base/error.h"
#include "engine/bert_config.h"
#include "engine/distances.h"
#include "engine/encoder_steps.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct BertLayerWeights {
  Linear qkv;            // hidden to 3 hidden: query, key and value in one product
  Linear attention_out;  // hidden to hidden
  Norm attention_norm;
  Linear up;    // hidden to intermediate, or twice that with a gate
  Linear down;  // intermediate to hidden
  Norm output_norm;
};

struct BertWeights {
  Embeddings embeddings;
  std::vector<BertLayerWeights> layers;  // the distinct ones
  std::optional<DistanceBias> distances;
  WeightsMemory memory;
};

/// Reads every parameter and checks names and shapes against the config. The result points into
/// `file`, which must outlive it. Errors: kCorrupt with the tensor's name; kUnsupported for its
/// type.
Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const TrunkOptions& options);

}  // namespace signalbox::engine
