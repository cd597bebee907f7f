#pragma once
// The parameters of a BERT encoder, laid out for the forward pass: matrices as float, the token
// table as the file has it (half of a small model's size, and only the rows of tokens at hand are
// read).

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/linear.h"
#include "engine/model_config.h"
#include "kernels/kernels.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct BertNorm {
  Buffer<float> gamma, beta;  // (hidden)
};

struct BertLayerWeights {
  Buffer<float> packed;  // what the four products look into: one block, so that it gets huge pages
  Linear qkv;            // hidden to 3 hidden: query, key and value in one product
  Linear attention_out;  // hidden to hidden
  BertNorm attention_norm;
  Linear up;    // hidden to intermediate
  Linear down;  // intermediate to hidden
  BertNorm output_norm;
};

struct BertWeights {
  weights::Tensor tokens;   // (vocabulary, hidden), F32, F16 or BF16, in the file
  Buffer<float> positions;  // (positions, hidden), the embedding of type 0 added in
  BertNorm norm;            // after the embeddings
  std::vector<BertLayerWeights> layers;
};

/// Reads every parameter, checking names and shapes against the config; a prefix "bert." is
/// understood. The result looks into `file`, which must outlive it. Errors: kCorrupt naming the
/// tensor, kUnsupported for its type.
Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const kernels::Table& kernels);

}  // namespace signalbox::engine
