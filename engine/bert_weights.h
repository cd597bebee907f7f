#pragma once
// The parameters of a BERT encoder, laid out for the forward pass: matrices as float, the token
// table as the file has it (half of a small model's size, and only the rows of tokens at hand are
// read).

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/model_config.h"
#include "kernels/kernels.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct BertLayerWeights {
  Buffer<float> qkv;             // (3, hidden, hidden): query, key and value in one product
  Buffer<float> qkv_bias;        // (3, hidden)
  Buffer<float> attention_out;   // (hidden, hidden)
  Buffer<float> attention_bias;  // (hidden)
  Buffer<float> attention_gamma, attention_beta;  // (hidden)
  Buffer<float> up;                               // (intermediate, hidden)
  Buffer<float> up_bias;                          // (intermediate)
  Buffer<float> down;                             // (hidden, intermediate)
  Buffer<float> down_bias;                        // (hidden)
  Buffer<float> output_gamma, output_beta;        // (hidden)
};

struct BertWeights {
  weights::Tensor tokens;     // (vocabulary, hidden), F32, F16 or BF16, in the file
  Buffer<float> positions;    // (positions, hidden), the embedding of type 0 added in
  Buffer<float> gamma, beta;  // (hidden), of the norm after the embeddings
  std::vector<BertLayerWeights> layers;
};

/// Reads every parameter, checking names and shapes against the config; a prefix "bert." is
/// understood. The result looks into `file`, which must outlive it. Errors: kCorrupt naming the
/// tensor, kUnsupported for its type.
Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const kernels::Table& kernels);

}  // namespace signalbox::engine
