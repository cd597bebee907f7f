#pragma once
// The parameters of a T5 encoder, laid out for the forward pass.

#include <vector>

#include "base/error.h"
#include "engine/encoder_steps.h"
#include "engine/t5_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct T5LayerWeights {
  RmsNorm attention_norm;
  Linear qkv;            // hidden to 3 mixed
  Linear attention_out;  // mixed to hidden
  RmsNorm mlp_norm;
  Linear up;    // hidden to intermediate, or twice that with a gate
  Linear down;  // intermediate to hidden
};

struct T5Weights {
  Embeddings embeddings;
  std::vector<T5LayerWeights> layers;
  DistanceBias distances;  // of all layers
  RmsNorm final_norm;
  WeightsMemory memory;
};

/// Reads the parameters of the encoder, ignores those of a decoder, and checks names and shapes
/// against the config. `reach` is the largest number of tokens. The result points into `file`,
/// which must outlive it. Errors: kCorrupt with the tensor's name; kUnsupported for its type.
Result<T5Weights> load_t5_weights(const weights::SafeTensors& file, const T5Config& config,
                                  int32_t reach, const TrunkOptions& options);

}  // namespace signalbox::engine
