// MPNet: Song et al., "MPNet: Masked and Permuted Pre-training for Language Understanding", 2020.
// It is BERT without segment types, with RoBERTa's positions, and with biases of attention by
// distance that all layers share.

#include "engine/bert_config.h"
#include "engine/distances.h"

namespace signalbox::engine {

Result<BertConfig> read_mpnet(const weights::HfObject& config) {
  SIGNALBOX_TRY(BertConfig out, read_bert_options(config, {.vocabulary = 30527, .types = 0}));
  out.padding = 1;  // whatever pad_token_id is
  out.first_position = 2;
  out.tokens_max = out.positions - out.first_position;
  if (out.tokens_max < 1) {
    return fail(Code::kCorrupt, "{}: {}, expected at least 3: a text's positions begin at 2",
                config.where("max_position_embeddings"), out.positions);
  }
  // The table may be larger, but its first rows are always used as these buckets.
  SIGNALBOX_TRY(out.distances, config.integer("relative_attention_num_buckets", BucketsT5{}.count,
                                              1 << 14, BucketsT5{}.count));
  SIGNALBOX_TRY(const int32_t layers, config.integer("num_hidden_layers", 1, 256, 12));
  out.number_layers(layers, "encoder.layer.");
  out.names.prefixes = {"mpnet.", ""};
  out.names.distances = "encoder.relative_attention_bias.weight";
  out.names.qkv = {"attention.attn.q", "attention.attn.k", "attention.attn.v"};
  out.names.packed_qkv = "attention.attn.qkv";
  out.names.attention_out = "attention.attn.o";
  out.names.attention_norm = "attention.LayerNorm";
  return out;
}

}  // namespace signalbox::engine
