// Causal attention over the whole text, or over a window of it in the layers that config.json
// names. A token sees itself and the sliding_window - 1 tokens before it. Embedders may set
// is_causal to false; a token then sees the whole text.

#include "engine/qwen3.h"

#include <algorithm>

#include "engine/decoder.h"

namespace signalbox::engine {
namespace {

constexpr DecoderDefaults kQwen3Defaults{.head_dim = 128, .positions = 32768};

Result<DecoderConfig> read_qwen3(const weights::HfConfig& file) {
  const weights::HfObject config = file.root();
  SIGNALBOX_TRY(DecoderConfig out, read_decoder_config(file, kQwen3Defaults));
  SIGNALBOX_TRY(const std::string activation, config.string("hidden_act", "silu"));
  if (activation != "silu") {
    return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: \"silu\")",
                config.where("hidden_act"), activation);
  }
  SIGNALBOX_TRY(const bool allowed, config.boolean("use_sliding_window", false));
  const auto given = config.value().find("sliding_window");
  const bool slides = allowed && !(given && given->is_null());
  SIGNALBOX_TRY(const int32_t width, config.integer("sliding_window", 1, 1 << 20, 4096));
  SIGNALBOX_TRY(const int32_t full, config.integer("max_window_layers", 0, 1 << 16, 28));
  const auto window = slides ? std::optional(width - 1) : std::nullopt;
  SIGNALBOX_TRY(out.windows,
                read_windows(config, window, [&](int32_t i) { return slides && i >= full; }));
  SIGNALBOX_TRY(out.causal, config.boolean("is_causal", true));
  if (!out.causal &&
      std::ranges::any_of(out.windows, [](int32_t each) { return each != kernels::kNoWindow; }))
    return fail(Code::kUnsupported, "{}: false is not supported with sliding layers",
                config.where("is_causal"));
  SIGNALBOX_TRY(const double theta, config.number("rope_theta", 1.001, 1e12, 10000));
  SIGNALBOX_TRY(out.full_rope, read_decoder_rope(config, "full_attention", theta, out.tokens_max));
  out.window_rope = out.full_rope;
  return out;
}

}  // namespace

Result<std::unique_ptr<const Trunk>> open_qwen3(const weights::HfConfig& config,
                                                const weights::SafeTensors& file,
                                                const TrunkOptions& options) {
  SIGNALBOX_TRY(const DecoderConfig qwen, read_qwen3(config));
  return open_decoder(qwen, file, options);
}

}  // namespace signalbox::engine
