// The keys of config.json that decoders share. Missing keys have the defaults of Hugging Face's
// configurations.

#include "engine/decoder.h"

namespace signalbox::engine {

Result<DecoderConfig> read_decoder_config(const weights::HfConfig& file,
                                          const DecoderDefaults& defaults) {
  const weights::HfObject config = file.root();
  DecoderConfig out;
  SIGNALBOX_TRY(out.vocabulary, config.integer("vocab_size", 1, 1 << 22));
  SIGNALBOX_TRY(out.tokens_max,
                config.integer("max_position_embeddings", 2, 1 << 20, defaults.positions));
  SIGNALBOX_TRY(out.hidden, config.integer("hidden_size", 1, 1 << 14));
  SIGNALBOX_TRY(out.heads, config.integer("num_attention_heads", 1, 256));
  SIGNALBOX_TRY(out.kv_heads, config.integer("num_key_value_heads", 1, 256, out.heads));
  SIGNALBOX_TRY(out.head_dim, config.integer("head_dim", 2, 1 << 10, defaults.head_dim));
  SIGNALBOX_TRY(out.intermediate, config.integer("intermediate_size", 1, 1 << 16));
  SIGNALBOX_TRY(const double eps, config.number("rms_norm_eps", 0, 1, 1e-6));
  out.norm_eps = static_cast<float>(eps);
  SIGNALBOX_TRY(out.attention_bias, config.boolean("attention_bias", false));
  if (out.heads % out.kv_heads != 0) {
    return fail(Code::kCorrupt, "{}: num_attention_heads {} is not a multiple of {} {}",
                file.name(), out.heads, "num_key_value_heads", out.kv_heads);
  }
  if (out.head_dim % 2 != 0) {
    return fail(Code::kCorrupt, "{}: {}, expected an even number", config.where("head_dim"),
                out.head_dim);
  }
  return out;
}

Result<std::vector<int32_t>> read_windows(const weights::HfObject& config,
                                          std::optional<int32_t> window,
                                          const std::function<bool(int32_t)>& is_sliding) {
  SIGNALBOX_TRY(const int32_t layers, config.integer("num_hidden_layers", 1, 256));
  SIGNALBOX_TRY(const std::vector<std::string> types, config.strings("layer_types"));
  const bool typed = config.has("layer_types");
  if (typed && static_cast<int32_t>(types.size()) != layers) {
    return fail(Code::kCorrupt, "{}: {} entries, num_hidden_layers is {}",
                config.where("layer_types"), types.size(), layers);
  }
  std::vector<int32_t> out(layers, kernels::kNoWindow);
  for (int32_t i = 0; i < layers; ++i) {
    if (typed && types[i] != "full_attention" && types[i] != "sliding_attention") {
      return fail(Code::kUnsupported,
                  "{}[{}]: \"{}\" is not supported (supported: full_attention, sliding_attention)",
                  config.where("layer_types"), i, types[i]);
    }
    if (!(typed ? types[i] == "sliding_attention" : is_sliding(i))) continue;
    if (!window) {
      return fail(Code::kCorrupt, "{}: missing, but layer {} is sliding",
                  config.where("sliding_window"), i);
    }
    out[i] = *window;
  }
  return out;
}

Result<RopeConfig> read_decoder_rope(const weights::HfObject& config, std::string_view attention,
                                     double theta, int32_t positions) {
  SIGNALBOX_TRY_VOID(require_whole_heads(config));
  SIGNALBOX_TRY(const auto parameters, config.object("rope_parameters"));
  SIGNALBOX_TRY(const auto scaling, config.object("rope_scaling"));
  if (parameters && scaling) {
    return fail(Code::kUnsupported, "{}: not supported together with rope_parameters",
                config.where("rope_scaling"));
  }
  if (scaling) return read_rope(*scaling, theta, positions);
  if (!parameters) return RopeConfig{.theta = theta, .positions = positions};
  SIGNALBOX_TRY(const auto own, parameters->object(attention));
  return read_rope(own ? *own : *parameters, theta, positions);
}

}  // namespace signalbox::engine
