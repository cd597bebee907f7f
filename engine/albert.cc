// ALBERT: Lan et al., "ALBERT: A Lite BERT for Self-supervised Learning of Language
// Representations", 2019. It is BERT with narrow embeddings and few distinct layers: consecutive
// layers form a group with the same weights. A group may have several inner layers, which run one
// after the other each time.

#include "engine/bert_config.h"

namespace signalbox::engine {

Result<BertConfig> read_albert(const weights::HfObject& config) {
  SIGNALBOX_TRY(BertConfig out, read_bert_options(config, {.vocabulary = 30000,
                                                           .hidden = 4096,
                                                           .heads = 64,
                                                           .intermediate = 16384,
                                                           .activation = "gelu_new"}));
  SIGNALBOX_TRY(out.embedding, config.integer("embedding_size", 1, 1 << 14, 128));
  SIGNALBOX_TRY(const int32_t layers, config.integer("num_hidden_layers", 1, 256, 12));
  SIGNALBOX_TRY(const int32_t groups, config.integer("num_hidden_groups", 1, layers, 1));
  SIGNALBOX_TRY(const int32_t inner, config.integer("inner_group_num", 1, 16, 1));
  // The reference divides in floating point, and some quotients round down: layer 9 of 18 in 14
  // groups belongs to group 6.
  const double layers_of_group = static_cast<double>(layers) / groups;
  for (int32_t layer = 0; layer < layers; ++layer) {
    const auto group = static_cast<int32_t>(layer / layers_of_group);
    for (int32_t i = 0; i < inner; ++i) out.order.push_back(group * inner + i);
  }
  for (int32_t i = 0; i < groups * inner; ++i) {
    out.names.layers.push_back(
        fmt::format("encoder.albert_layer_groups.{}.albert_layers.{}.", i / inner, i % inner));
  }
  out.names.prefixes = {"albert.", ""};
  out.names.projection = "encoder.embedding_hidden_mapping_in";
  out.names.qkv = {"attention.query", "attention.key", "attention.value"};
  out.names.packed_qkv = "attention.query_key_value";
  out.names.attention_out = "attention.dense";
  out.names.attention_norm = "attention.LayerNorm";
  out.names.up = {"ffn"};
  out.names.packed_up = "ffn";
  out.names.down = "ffn_output";
  out.names.output_norm = "full_layer_layer_norm";
  return out;
}

}  // namespace signalbox::engine
