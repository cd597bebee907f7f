// Reads config.json into a T5Config.

#include "engine/t5_config.h"

#include "engine/read_options.h"

namespace signalbox::engine {
namespace {

// The function's own key takes precedence over the part after "gated-" in feed_forward_proj.
Result<void> read_feed_forward(const weights::HfObject& config, T5Config& out) {
  constexpr std::string_view kKey = "feed_forward_proj", kGated = "gated-";
  SIGNALBOX_TRY(const std::string form, config.string(kKey, "relu"));
  SIGNALBOX_TRY(const bool gated, config.boolean("is_gated_act", form.starts_with(kGated)));
  std::string name = form.starts_with(kGated) ? form.substr(kGated.size()) : form;
  if (form == "gated-gelu") name = "gelu_new";
  SIGNALBOX_TRY(name, config.string("dense_act_fn", name));
  const std::string_view key = config.has("dense_act_fn") ? "dense_act_fn" : kKey;
  if (gated && (name == "silu" || name == "swish")) {
    out.gate = kernels::Finish::kSwiglu;
    return {};
  }
  SIGNALBOX_TRY(out.activation, activation_of(config, key, name));
  if (!gated) return {};
  if (out.activation == Activation::kGelu) {
    out.gate = kernels::Finish::kGeglu;
  } else if (out.activation == Activation::kGeluTanh) {
    out.gate = kernels::Finish::kGegluTanh;
  } else {
    return fail(Code::kUnsupported,
                "{}: a gate with \"{}\" is not supported (supported: gelu, gelu_new, silu)",
                config.where(key), name);
  }
  return {};
}

Result<void> read_buckets(const weights::HfObject& config, BucketsT5& out) {
  SIGNALBOX_TRY(out.count, config.integer("relative_attention_num_buckets", 4, 1 << 14, out.count));
  SIGNALBOX_TRY(out.far, config.integer("relative_attention_max_distance", 1, 1 << 14, out.far));
  if (out.far > out.count / 4) return {};
  return fail(Code::kCorrupt, "{}: {}, expected more than a quarter of {} {}",
              config.where("relative_attention_max_distance"), out.far,
              "relative_attention_num_buckets", out.count);
}

}  // namespace

Result<T5Config> read_t5_config(const weights::HfConfig& file) {
  const weights::HfObject config = file.root();
  T5Config out;
  SIGNALBOX_TRY(out.vocabulary, config.integer("vocab_size", 1, 1 << 22, 32128));
  SIGNALBOX_TRY(out.tokens_max, config.integer("n_positions", 2, 1 << 13, 512));
  SIGNALBOX_TRY(out.hidden, config.integer("d_model", 1, 1 << 14, 512));
  SIGNALBOX_TRY(out.head_dim, config.integer("d_kv", 1, 1 << 10, 64));
  SIGNALBOX_TRY(out.heads, config.integer("num_heads", 1, 256, 8));
  SIGNALBOX_TRY(out.layers, config.integer("num_layers", 1, 256, 6));
  SIGNALBOX_TRY(out.intermediate, config.integer("d_ff", 1, 1 << 16, 2048));
  SIGNALBOX_TRY(out.norm_eps, read_eps(config, "layer_norm_epsilon", 1e-6));
  SIGNALBOX_TRY_VOID(read_feed_forward(config, out));
  SIGNALBOX_TRY_VOID(read_buckets(config, out.buckets));
  return out;
}

}  // namespace signalbox::engine
