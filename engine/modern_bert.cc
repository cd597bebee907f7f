// Embeddings and their norm, then per layer: norm, attention, add; norm, gated feed-forward, add. A
// final norm follows the last layer.

#include "engine/modern_bert.h"

#include "engine/modern_bert_weights.h"

namespace signalbox::engine {
namespace {

TrunkShape shape_of(const ModernBertConfig& config) {
  return {.vocabulary = config.vocabulary,
          .types = 1,
          .tokens_max = config.tokens_max,
          .layers = config.layers(),
          .hidden = config.hidden,
          .heads = config.heads,
          .wide = config.intermediate};
}

class ModernBert final : public Trunk {
 public:
  ModernBert(const ModernBertConfig& config, ModernBertWeights weights, const TrunkOptions& options)
      : Trunk(shape_of(config), weights.memory.bytes),
        config_(config),
        weights_(std::move(weights)),
        kernels_(options.kernels),
        global_rope_(config.global_rope, config.head_dim()),
        local_rope_(config.local_rope, config.head_dim()) {}

  void encode(Scratch& s, int32_t layers, Workers& workers) const override {
    const Pass pass{kernels_, shape(), config_.norm_eps, s, workers};
    global_rope_.prepare(s.batch, s.global_rope);
    local_rope_.prepare(s.batch, s.local_rope);
    embed(weights_.embeddings, pass);
    for (int32_t layer = 0; layer < layers; ++layer) {
      const bool global = config_.layers_global[layer];
      run_layer(weights_.layers[layer], global ? s.global_rope : s.local_rope,
                global ? kernels::kNoWindow : config_.window, pass);
    }
    for_blocks(pass, [&](const Block& block) { block.normalize(weights_.final_norm); });
  }

  double multiply_adds(int32_t tokens) const override {
    const double n = tokens, hidden = config_.hidden, wide = config_.intermediate;
    double out = config_.layers() * n * hidden * (4 * hidden + 3 * wide);
    for (const bool global : config_.layers_global) {
      out += 2 * hidden * attended_pairs(tokens, global ? kernels::kNoWindow : config_.window);
    }
    return out;
  }

 private:
  void run_layer(const ModernBertLayerWeights& w, const RopeTables& rope, int32_t window,
                 const Pass& pass) const {
    for_blocks(pass, [&](const Block& block) {
      block.project(w.qkv, w.attention_norm ? block.normalized(*w.attention_norm) : block.x());
      block.rotate(rope);
    });
    attend(pass.kernels, w.qkv.format(), shape(), window, pass.scratch, pass.workers);
    for_blocks(pass, [&](const Block& block) {
      block.add(w.attention_out, block.mixed());
      block.feed_forward(w.up, kernels::Finish::kGeglu, w.down, block.normalized(w.mlp_norm));
    });
  }

  const ModernBertConfig config_;
  const ModernBertWeights weights_;
  const kernels::Table& kernels_;
  const Rope global_rope_;
  const Rope local_rope_;
};

}  // namespace

Result<std::unique_ptr<const Trunk>> open_modern_bert(const weights::HfConfig& config,
                                                      const weights::SafeTensors& file,
                                                      const TrunkOptions& options) {
  SIGNALBOX_TRY(const ModernBertConfig modern, read_modern_bert_config(config));
  SIGNALBOX_TRY(ModernBertWeights weights, load_modern_bert_weights(file, modern, options));
  return std::make_unique<const ModernBert>(modern, std::move(weights), options);
}

}  // namespace signalbox::engine
