#pragma once
// The settings in a ModernBERT config.json that affect the computation. An unsupported value that
// would change the result is rejected by name instead of ignored.

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "engine/rope.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// ModernBERT: Warner et al., "Smarter, Better, Faster, Longer: A Modern Bidirectional Encoder",
/// 2024, with Hugging Face's names.
struct ModernBertConfig {
  int32_t vocabulary = 0;
  int32_t tokens_max = 0;
  int32_t hidden = 0;
  int32_t heads = 0;         // hidden is a multiple of it, and the head size is even
  int32_t intermediate = 0;  // width of the gated feed-forward layer
  float norm_eps = 0;
  bool norm_bias = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  std::vector<bool> layers_global;  // (layers): attention over the whole text, or within a window
  int32_t window = 0;               // local layers: token i attends to token j when |i - j| <=
                                    // window
  RopeConfig global_rope;
  RopeConfig local_rope;

  int32_t layers() const { return static_cast<int32_t>(layers_global.size()); }
  int32_t head_dim() const { return hidden / heads; }
};

/// Reads both styles: `layer_types` and `rope_parameters` of newer files;
/// `global_attn_every_n_layers`, `*_rope_theta` and `rope_scaling` of older ones. Errors:
/// kUnsupported for an unsupported option; kCorrupt for values out of range or contradictory.
Result<ModernBertConfig> read_modern_bert_config(const weights::HfConfig& config);

}  // namespace signalbox::engine
