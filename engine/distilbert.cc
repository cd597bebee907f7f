// DistilBERT: Sanh et al., "DistilBERT, a distilled version of BERT", 2019. It is BERT without
// segment types, and its options and tensors have other names.

#include "engine/bert_config.h"
#include "engine/read_options.h"

namespace signalbox::engine {

Result<BertConfig> read_distilbert(const weights::HfObject& config) {
  BertConfig out;
  SIGNALBOX_TRY(out.activation, read_activation(config, "activation", "gelu"));
  SIGNALBOX_TRY(out.vocabulary, config.integer("vocab_size", 1, 1 << 22, 30522));
  // Sinusoidal positions, where chosen, only filled the table before training; it is in the file.
  SIGNALBOX_TRY(out.positions, config.integer("max_position_embeddings", 2, 1 << 17, 512));
  SIGNALBOX_TRY(out.hidden, config.integer("dim", 1, 1 << 14, 768));
  SIGNALBOX_TRY(out.heads, config.integer("n_heads", 1, 256, 12));
  SIGNALBOX_TRY(out.intermediate, config.integer("hidden_dim", 1, 1 << 16, 3072));
  SIGNALBOX_TRY(const int32_t layers, config.integer("n_layers", 1, 256, 6));
  SIGNALBOX_TRY_VOID(check_heads(config, "dim", out.hidden, "n_heads", out.heads));
  out.embedding = out.hidden;
  out.tokens_max = out.positions;
  out.norm_eps = 1e-12f;
  out.number_layers(layers, "transformer.layer.");
  out.names.prefixes = {"distilbert.", ""};
  out.names.qkv = {"attention.q_lin", "attention.k_lin", "attention.v_lin"};
  out.names.packed_qkv = "attention.qkv_lin";
  out.names.attention_out = "attention.out_lin";
  out.names.attention_norm = "sa_layer_norm";
  out.names.up = {"ffn.lin1"};
  out.names.packed_up = "ffn.lin1";
  out.names.down = "ffn.lin2";
  out.names.output_norm = "output_layer_norm";
  return out;
}

}  // namespace signalbox::engine
