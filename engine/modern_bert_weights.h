#pragma once
// The parameters of a ModernBERT encoder, laid out for the forward pass. The token table stays in
// the file, because only the rows of the current tokens are read.

#include <optional>
#include <vector>

#include "base/error.h"
#include "engine/encoder_steps.h"
#include "engine/modern_bert_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct ModernBertLayerWeights {
  std::optional<Norm> attention_norm;  // none in the first layer, because the embeddings are
                                       // normalised
  Linear qkv;                          // hidden to 3 hidden
  Linear attention_out;                // hidden to hidden
  Norm mlp_norm;
  Linear up;    // hidden to 2 intermediate: the activated half, then the gate
  Linear down;  // intermediate to hidden
};

struct ModernBertWeights {
  Embeddings embeddings;
  std::vector<ModernBertLayerWeights> layers;
  Norm final_norm;
  WeightsMemory memory;
};

/// Reads every parameter and checks names and shapes against the config. Accepts the prefix
/// "model." of models with a head, and ignores a decoder over the vocabulary. The result points
/// into `file`, which must outlive it. Errors: kCorrupt with the tensor's name; kUnsupported for
/// its type.
Result<ModernBertWeights> load_modern_bert_weights(const weights::SafeTensors& file,
                                                   const ModernBertConfig& config,
                                                   const TrunkOptions& options);

}  // namespace signalbox::engine
