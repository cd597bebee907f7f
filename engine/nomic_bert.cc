// NomicBERT: Nussbaum et al., "Nomic Embed: Training a Reproducible Long Context Text Embedder",
// 2024. It is BERT with rotary positions and a gated feed-forward layer, and its options have
// GPT-2's names.

#include <cmath>

#include "engine/bert_config.h"
#include "engine/read_options.h"

namespace signalbox::engine {
namespace {

int32_t round_up(int32_t n, int32_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

Result<void> read_gate(const weights::HfObject& config, BertConfig& out) {
  SIGNALBOX_TRY(const std::string name, config.string("activation_function", "gelu"));
  if (name == "swiglu") {
    out.gate = kernels::Finish::kSwiglu;
  } else if (name == "geglu") {
    out.gate = kernels::Finish::kGeglu;
  } else {
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: swiglu, geglu)",
                config.where("activation_function"), name);
  }
  SIGNALBOX_TRY(const int32_t inner,
                config.integer("n_inner", 1, 1 << 16, static_cast<int32_t>(out.hidden * 8 / 3)));
  out.intermediate = round_up(inner, 256);
  SIGNALBOX_TRY(out.attention_bias, config.boolean("qkv_proj_bias", true));
  SIGNALBOX_TRY(out.up_bias, config.boolean("mlp_fc1_bias", true));
  SIGNALBOX_TRY(out.down_bias, config.boolean("mlp_fc2_bias", true));
  return {};
}

// Texts that are longer than those of training stretch the frequencies, unless the factor is null.
Result<void> read_rotation(const weights::HfObject& config, BertConfig& out) {
  SIGNALBOX_TRY(const double fraction, config.number("rotary_emb_fraction", 0, 1, 0));
  if (fraction != 1) {
    return fail(Code::kUnsupported, "{}: {} is not supported (supported: 1)",
                config.where("rotary_emb_fraction"), fraction);
  }
  SIGNALBOX_TRY_VOID(refuse(config, "rotary_emb_interleaved"));
  if (config.has("rotary_emb_scale_base")) {
    return fail(Code::kUnsupported, "{}: not supported (supported: null)",
                config.where("rotary_emb_scale_base"));
  }
  RopeConfig rope;
  SIGNALBOX_TRY(rope.theta, config.number("rotary_emb_base", 1.001, 1e12, 10000));
  SIGNALBOX_TRY(rope.positions, config.integer("max_trained_positions", 1, 1 << 20, 2048));
  SIGNALBOX_TRY(rope.factor, config.number("rotary_scaling_factor", 0, 1e6, 1));
  const auto factor = config.value().find("rotary_scaling_factor");
  if (!(factor && factor->is_null()) && rope.factor > 0)
    rope.scaling = RopeConfig::Scaling::kDynamic;
  out.rope = rope;
  return {};
}

}  // namespace

Result<BertConfig> read_nomic_bert(const weights::HfObject& config) {
  for (const char* key : {"prenorm", "parallel_block", "use_rms_norm", "causal"})
    SIGNALBOX_TRY_VOID(refuse(config, key));
  if (config.has("num_experts")) {
    return fail(Code::kUnsupported, "{}: layers of experts are not supported",
                config.where("num_experts"));
  }
  BertConfig out;
  SIGNALBOX_TRY(const int32_t words, config.integer("vocab_size", 1, 1 << 22, 50257));
  SIGNALBOX_TRY(const int32_t multiple, config.integer("pad_vocab_size_multiple", 1, 1 << 16, 1));
  out.vocabulary = round_up(words, multiple);
  SIGNALBOX_TRY(out.types, config.integer("type_vocab_size", 0, 64, 2));
  SIGNALBOX_TRY(out.tokens_max, config.integer("n_positions", 2, 1 << 20, 1024));
  SIGNALBOX_TRY(out.hidden, config.integer("n_embd", 1, 1 << 14, 768));
  SIGNALBOX_TRY(out.heads, config.integer("n_head", 1, 256, 12));
  SIGNALBOX_TRY(out.norm_eps, read_eps(config, "layer_norm_epsilon", 1e-5));
  SIGNALBOX_TRY(const int32_t layers, config.integer("n_layer", 1, 256, 12));
  SIGNALBOX_TRY_VOID(check_heads(config, "n_embd", out.hidden, "n_head", out.heads));
  if (out.head_dim() % 2 != 0) {
    return fail(Code::kCorrupt, "{}: {} over n_head {}: expected an even head size",
                config.where("n_embd"), out.hidden, out.heads);
  }
  SIGNALBOX_TRY_VOID(read_gate(config, out));
  SIGNALBOX_TRY_VOID(read_rotation(config, out));
  out.embedding = out.hidden;
  out.number_layers(layers, "encoder.layers.");
  out.names.prefixes = {"bert.", ""};
  out.names.embedding_norm = "emb_ln";
  out.names.qkv = {"attn.Wqkv"};
  out.names.packed_qkv = "attn.Wqkv";
  out.names.attention_out = "attn.out_proj";
  out.names.attention_norm = "norm1";
  out.names.up = {"mlp.fc12", "mlp.fc11"};
  out.names.packed_up = "mlp.fc12_fc11";
  out.names.down = "mlp.fc2";
  out.names.output_norm = "norm2";
  return out;
}

}  // namespace signalbox::engine
