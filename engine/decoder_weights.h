#pragma once
// The parameters of a decoder, laid out for the forward pass. The token table stays in the file,
// because only the rows of the current tokens are read.

#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/decoder.h"
#include "engine/linear.h"
#include "engine/trunk.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct DecoderLayerWeights {
  RmsNorm attention_norm;
  Linear qkv;            // hidden to (heads + 2 kv_heads) head_dim
  RmsNorm query_norm;    // (head_dim); includes the scale of the scores
  RmsNorm key_norm;      // (head_dim)
  Linear attention_out;  // heads head_dim to hidden
  std::optional<RmsNorm> attention_branch_norm;
  RmsNorm mlp_norm;
  Linear up;    // hidden to 2 intermediate: the activated half, then the other
  Linear down;  // intermediate to hidden
  std::optional<RmsNorm> mlp_branch_norm;
};

struct DecoderWeights {
  weights::Tensor tokens;  // (vocabulary, hidden), F32, F16 or BF16, in the file
  std::vector<DecoderLayerWeights> layers;
  RmsNorm final_norm;
  Arena arena;         // memory of the layers, unless the file holds them packed
  uint64_t bytes = 0;  // total
};

/// Reads every parameter and checks names and shapes against the config. Accepts the prefix
/// "model." of models with a head, and ignores a language model's head. The result points into
/// `file`, which must outlive it. Errors: kCorrupt with the tensor's name; kUnsupported for its
/// type.
Result<DecoderWeights> load_decoder_weights(const weights::SafeTensors& file,
                                            const DecoderConfig& config,
                                            const TrunkOptions& options);

}  // namespace signalbox::engine
