// Norms multiply by 1 + weight, embeddings are scaled by the root of their width, and both branches
// of a layer end with a norm. Layers with a window have a rope of their own.

#include "engine/gemma3.h"

#include <cmath>

#include "engine/decoder.h"

namespace signalbox::engine {
namespace {

constexpr DecoderDefaults kGemma3Defaults{.head_dim = 256, .positions = 131072};

// Refuses a key that must be missing.
Result<void> require_absent(const weights::HfObject& config, std::string_view key) {
  if (!config.has(key)) return {};
  return fail(Code::kUnsupported, "{}: not supported", config.where(key));
}

// Attention in both directions sees half of the window on either side.
Result<void> read_attention(const weights::HfObject& config, DecoderConfig& out) {
  SIGNALBOX_TRY(const bool both_ways, config.boolean("use_bidirectional_attention", false));
  out.causal = !both_ways;
  SIGNALBOX_TRY(const bool causal, config.boolean("is_causal", true));
  if (!causal && !both_ways) {
    return fail(Code::kUnsupported, "{}: false is not supported without {}",
                config.where("is_causal"), "use_bidirectional_attention");
  }
  SIGNALBOX_TRY(const int32_t width, config.integer("sliding_window", 1, 1 << 20, 4096));
  SIGNALBOX_TRY(const int32_t older, config.integer("sliding_window_pattern", 1, 256, 6));
  SIGNALBOX_TRY(const int32_t every, config.integer("_sliding_window_pattern", 1, 256, older));
  SIGNALBOX_TRY(out.windows, read_windows(config, both_ways ? width / 2 : width - 1,
                                          [&](int32_t i) { return (i + 1) % every != 0; }));
  SIGNALBOX_TRY(const double scalar, config.number("query_pre_attn_scalar", 1e-6, 1e9, 256));
  out.query_scale = static_cast<float>(std::sqrt(out.head_dim / scalar));
  return {};
}

// Only full layers have the scaling of older files.
Result<void> read_ropes(const weights::HfObject& config, DecoderConfig& out) {
  SIGNALBOX_TRY(const double theta, config.number("rope_theta", 1.001, 1e12, 1e6));
  SIGNALBOX_TRY(const double local, config.number("rope_local_base_freq", 1.001, 1e12, 1e4));
  SIGNALBOX_TRY(out.full_rope, read_decoder_rope(config, "full_attention", theta, out.tokens_max));
  out.window_rope = {.theta = local, .positions = out.tokens_max};
  if (!config.has("rope_parameters")) return {};
  SIGNALBOX_TRY(out.window_rope,
                read_decoder_rope(config, "sliding_attention", local, out.tokens_max));
  return {};
}

Result<DecoderConfig> read_gemma3(const weights::HfConfig& file) {
  const weights::HfObject config = file.root();
  SIGNALBOX_TRY(DecoderConfig out, read_decoder_config(file, kGemma3Defaults));
  SIGNALBOX_TRY(const std::string activation,
                config.string("hidden_activation", "gelu_pytorch_tanh"));
  if (activation != "gelu_pytorch_tanh") {
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: gelu_pytorch_tanh)",
                config.where("hidden_activation"), activation);
  }
  SIGNALBOX_TRY_VOID(require_absent(config, "attn_logit_softcapping"));
  SIGNALBOX_TRY_VOID(read_attention(config, out));
  SIGNALBOX_TRY_VOID(read_ropes(config, out));
  out.gate = kernels::Finish::kGegluTanh;
  out.embedding_scale = std::sqrt(static_cast<float>(out.hidden));
  out.norm_offset = 1;
  out.branch_norms = true;
  return out;
}

}  // namespace

Result<std::unique_ptr<const Trunk>> open_gemma3(const weights::HfConfig& config,
                                                 const weights::SafeTensors& file,
                                                 const TrunkOptions& options) {
  SIGNALBOX_TRY(const DecoderConfig gemma, read_gemma3(config));
  return open_decoder(gemma, file, options);
}

}  // namespace signalbox::engine
