#pragma once
// The parameters of a ModernBERT encoder, laid out for the forward pass. The token table stays in
// the file, because only the rows of the current tokens are read.

#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/linear.h"
#include "engine/modern_bert_config.h"
#include "engine/trunk.h"
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
  weights::Tensor tokens;  // (vocabulary, hidden), F32, F16 or BF16, in the file
  Norm embedding_norm;
  std::vector<ModernBertLayerWeights> layers;
  Arena arena;         // memory of the layers, unless the file holds them packed
  uint64_t bytes = 0;  // total
  Norm final_norm;
};

/// Reads every parameter and checks names and shapes against the config. Accepts the prefix
/// "model." of models with a head, and ignores a decoder over the vocabulary. The result points
/// into `file`, which must outlive it. Errors: kCorrupt with the tensor's name; kUnsupported for
/// its type.
Result<ModernBertWeights> load_modern_bert_weights(const weights::SafeTensors& file,
                                                   const ModernBertConfig& config,
                                                   const TrunkOptions& options);

}  // namespace signalbox::engine
