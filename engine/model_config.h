#pragma once
// What an encoder's config.json means to the mathematics. A value that would change the result and
// is not built is refused by name rather than ignored.

#include <cstdint>

#include "base/error.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018, in Hugging
/// Face's naming.
struct BertConfig {
  int32_t vocabulary = 0;
  int32_t positions = 0;  // most tokens of one text
  int32_t types = 0;      // segment types
  int32_t layers = 0;
  int32_t hidden = 0;
  int32_t heads = 0;         // hidden is a multiple
  int32_t intermediate = 0;  // width of the feed-forward layer
  float norm_eps = 0;

  int32_t head_dim() const { return hidden / heads; }
};

/// Errors: kUnsupported for another architecture or option, kCorrupt for values out of range.
Result<BertConfig> read_bert_config(const weights::HfConfig& config);

}  // namespace signalbox::engine
