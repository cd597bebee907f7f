#pragma once
// The settings in a BERT config.json that affect the computation. An unsupported value that would
// change the result is rejected by name instead of ignored.

#include <cstdint>

#include "base/error.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018, with Hugging
/// Face's names. RoBERTa (Liu et al., 2019) and XLM-RoBERTa are the same network with another first
/// position.
struct BertConfig {
  int32_t vocabulary = 0;
  int32_t positions = 0;       // rows of the position table
  int32_t first_position = 0;  // row for a text's first token
  int32_t types = 0;           // segment types
  int32_t layers = 0;
  int32_t hidden = 0;
  int32_t heads = 0;         // hidden is a multiple of it
  int32_t intermediate = 0;  // width of the feed-forward layer
  float norm_eps = 0;

  int32_t head_dim() const { return hidden / heads; }
  int32_t tokens_max() const { return positions - first_position; }
};

/// Errors: kUnsupported for another architecture or option; kCorrupt for values out of range.
Result<BertConfig> read_bert_config(const weights::HfConfig& config);

}  // namespace signalbox::engine
