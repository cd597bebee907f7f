#pragma once
// The parameters of a BERT encoder, laid out for the forward pass. Matrices are packed. The token
// table stays as it is in the file: it is half of a small model's size, and only the rows of the
// current tokens are read.

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/bert_config.h"
#include "engine/linear.h"
#include "engine/trunk.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct BertLayerWeights {
  Linear qkv;            // hidden to 3 hidden: query, key and value in one product
  Linear attention_out;  // hidden to hidden
  Norm attention_norm;
  Linear up;    // hidden to intermediate
  Linear down;  // intermediate to hidden
  Norm output_norm;
};

struct BertWeights {
  weights::Tensor tokens;   // (vocabulary, hidden), F32, F16 or BF16, in the file
  Buffer<float> positions;  // (positions, hidden)
  Buffer<float> types;      // (types, hidden)
  Norm norm;                // after the embeddings
  std::vector<BertLayerWeights> layers;
  Arena arena;         // memory of the layers, unless the file holds them packed
  uint64_t bytes = 0;  // total
};

/// Reads every parameter and checks names and shapes against the config. Accepts the prefixes of
/// models with a head ("bert.", "roberta."). The result points into `file`, which must outlive it.
/// Errors: kCorrupt with the tensor's name; kUnsupported for its type.
Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const TrunkOptions& options);

}  // namespace signalbox::engine
