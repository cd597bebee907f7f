// Reads config.json into a ModernBertConfig. Missing keys have the defaults of Hugging Face's
// configuration.

#include "engine/modern_bert_config.h"

#include <algorithm>
#include <optional>

namespace signalbox::engine {
namespace {

Result<std::vector<bool>> read_layers(const weights::HfObject& config) {
  SIGNALBOX_TRY(const int32_t layers, config.integer("num_hidden_layers", 1, 256, 22));
  SIGNALBOX_TRY(const std::vector<std::string> types, config.strings("layer_types"));
  std::vector<bool> out(layers);
  if (!config.has("layer_types")) {
    SIGNALBOX_TRY(const int32_t every, config.integer("global_attn_every_n_layers", 1, 256, 3));
    for (int32_t i = 0; i < layers; ++i) out[i] = i % every == 0;
    return out;
  }
  if (static_cast<int32_t>(types.size()) != layers) {
    return fail(Code::kCorrupt, "{}: {} entries, num_hidden_layers is {}",
                config.where("layer_types"), types.size(), layers);
  }
  for (int32_t i = 0; i < layers; ++i) {
    out[i] = types[i] == "full_attention";
    if (!out[i] && types[i] != "sliding_attention") {
      return fail(Code::kUnsupported,
                  "{}[{}]: \"{}\" is not supported (supported: full_attention, sliding_attention)",
                  config.where("layer_types"), i, types[i]);
    }
  }
  return out;
}

// Reads one of the two ropes: an entry of rope_parameters, or a theta with a common scaling.
Result<RopeConfig> read_rope_of(const weights::HfObject& config, std::string_view attention,
                                std::string_view theta_key, double theta_default,
                                int32_t positions) {
  SIGNALBOX_TRY(const double theta, config.number(theta_key, 1.001, 1e12, theta_default));
  SIGNALBOX_TRY_VOID(require_whole_heads(config));
  SIGNALBOX_TRY(const auto parameters, config.object("rope_parameters"));
  SIGNALBOX_TRY(const auto scaling, config.object("rope_scaling"));
  if (parameters && scaling) {
    return fail(Code::kUnsupported, "{}: not supported together with rope_parameters",
                config.where("rope_scaling"));
  }
  if (scaling) return read_rope(*scaling, theta, positions);
  if (parameters) {
    const bool flat = parameters->has("rope_type") || parameters->has("rope_theta");
    if (flat) {
      return fail(
          Code::kUnsupported,
          "{}: one set for all layers is not supported (supported: one for full_attention and one "
          "for sliding_attention)",
          config.where("rope_parameters"));
    }
    SIGNALBOX_TRY(const auto own, parameters->object(attention));
    if (own) return read_rope(*own, theta, positions);
  }
  return RopeConfig{.theta = theta, .positions = positions};
}

// Rejects options that this network does not implement.
Result<void> refuse_others(const weights::HfObject& config, int32_t head_dim) {
  SIGNALBOX_TRY(const std::string activation, config.string("hidden_activation", "gelu"));
  if (activation != "gelu") {
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: \"gelu\")",
                config.where("hidden_activation"), activation);
  }
  // Published checkpoints contain these two meaningless names. Positions are always rotary.
  SIGNALBOX_TRY(const std::string positions, config.string("position_embedding_type", "absolute"));
  if (positions != "absolute" && positions != "sans_pos") {
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: rotary positions)",
                config.where("position_embedding_type"), positions);
  }
  SIGNALBOX_TRY(const int32_t own_dim, config.integer("head_dim", 1, 1 << 14, head_dim));
  if (own_dim != head_dim) {
    return fail(Code::kUnsupported, "{}: {} is not supported (supported: hidden_size / heads, {})",
                config.where("head_dim"), own_dim, head_dim);
  }
  return {};
}

}  // namespace

Result<ModernBertConfig> read_modern_bert_config(const weights::HfConfig& file) {
  const weights::HfObject config = file.root();
  ModernBertConfig out;
  SIGNALBOX_TRY(out.vocabulary, config.integer("vocab_size", 1, 1 << 22));
  SIGNALBOX_TRY(const int32_t positions,
                config.integer("max_position_embeddings", 2, 1 << 20, 8192));
  SIGNALBOX_TRY(out.hidden, config.integer("hidden_size", 1, 1 << 14));
  SIGNALBOX_TRY(out.heads, config.integer("num_attention_heads", 1, 256));
  SIGNALBOX_TRY(out.intermediate, config.integer("intermediate_size", 1, 1 << 16));
  SIGNALBOX_TRY(const double eps, config.number("norm_eps", 0, 1, 1e-5));
  out.norm_eps = static_cast<float>(eps);
  SIGNALBOX_TRY(out.norm_bias, config.boolean("norm_bias", false));
  SIGNALBOX_TRY(out.attention_bias, config.boolean("attention_bias", false));
  SIGNALBOX_TRY(out.mlp_bias, config.boolean("mlp_bias", false));
  SIGNALBOX_TRY(out.layers_global, read_layers(config));
  SIGNALBOX_TRY(const int32_t local, config.integer("local_attention", 1, 1 << 20, 128));
  out.window = local / 2;
  if (out.hidden % out.heads != 0 || out.head_dim() % 2 != 0) {
    return fail(Code::kCorrupt,
                "{}: hidden_size {} over num_attention_heads {}: expected an even head size",
                file.name(), out.hidden, out.heads);
  }
  SIGNALBOX_TRY_VOID(refuse_others(config, out.head_dim()));
  SIGNALBOX_TRY(out.global_rope,
                read_rope_of(config, "full_attention", "global_rope_theta", 160000, positions));
  // In older files null means the same theta as for global layers.
  const auto local_theta = config.value().find("local_rope_theta");
  const bool as_global = local_theta && local_theta->is_null();
  SIGNALBOX_TRY(out.local_rope, read_rope_of(config, "sliding_attention", "local_rope_theta",
                                             as_global ? out.global_rope.theta : 10000, positions));
  out.tokens_max = positions;
  if (out.global_rope.scaling == RopeConfig::Scaling::kDynamic) {
    out.tokens_max = static_cast<int32_t>(std::min(positions * out.global_rope.factor, 1048576.0));
  }
  return out;
}

}  // namespace signalbox::engine
