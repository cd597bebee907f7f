#pragma once
// The parameters of a DeBERTa-v2 encoder, laid out for the forward pass.

#include <optional>
#include <vector>

#include "base/error.h"
#include "engine/deberta_config.h"
#include "engine/distances.h"
#include "engine/encoder_steps.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct DebertaLayerWeights {
  Linear qkv;            // hidden to 3 hidden
  Linear attention_out;  // hidden to hidden
  Norm attention_norm;
  Linear up;    // hidden to intermediate
  Linear down;  // intermediate to hidden
  Norm output_norm;
  Buffer<float> distance_keys;     // (distances, hidden), or empty
  Buffer<float> distance_queries;  // (distances, hidden), or empty
};

struct DebertaConvolution {
  Linear taps;  // the neighbouring tokens' embeddings (taps hidden) to hidden
  Norm norm;    // of the sum with the first layer's output
};

struct DebertaWeights {
  Embeddings embeddings;
  std::vector<DebertaLayerWeights> layers;
  std::optional<DebertaConvolution> convolution;
  WeightsMemory memory;
};

/// Reads every parameter and checks names and shapes against the config. The keys and queries of
/// `distances` depend on nothing but the weights, so they are computed here. The result points into
/// `file`, which must outlive it. Errors: kCorrupt with the tensor's name; kUnsupported for its
/// type.
Result<DebertaWeights> load_deberta_weights(const weights::SafeTensors& file,
                                            const DebertaConfig& config,
                                            const DistanceRows& distances,
                                            const TrunkOptions& options);

}  // namespace signalbox::engine
