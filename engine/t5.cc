// Embeddings, then per layer: norm, attention, add; norm, feed-forward, add. A final norm follows
// the last layer. The scores of attention are not scaled; a bias by distance is added to them.

#include "engine/t5.h"

#include <algorithm>

#include "engine/t5_weights.h"

namespace signalbox::engine {
namespace {

// Biases exist for every distance, so nothing limits a text but the memory of its attention.
constexpr int32_t kT5IdsMax = 8192;

TrunkShape shape_of(const T5Config& config) {
  return {.vocabulary = config.vocabulary,
          .tokens_max = config.tokens_max,
          .ids_max = kT5IdsMax,
          .layers = config.layers,
          .hidden = config.hidden,
          .heads = config.heads,
          .wide = config.intermediate,
          .head_width = config.head_dim,
          .score_scale = 1};
}

class T5 final : public Trunk {
 public:
  T5(const T5Config& config, T5Weights weights, const TrunkOptions& options)
      : Trunk(shape_of(config), weights.memory.bytes),
        config_(config),
        weights_(std::move(weights)),
        kernels_(options.kernels) {}

  void encode(Scratch& s, int32_t layers, Workers& workers) const override {
    const Pass pass{kernels_, shape(), config_.norm_eps, s, workers};
    embed(weights_.embeddings, pass);
    for (int32_t layer = 0; layer < layers; ++layer) run_layer(weights_.layers[layer], pass);
    for_blocks(pass, [&](const Block& block) { block.normalize(weights_.final_norm); });
  }

  double multiply_adds(int32_t tokens) const override {
    const double n = tokens, hidden = config_.hidden, wide = config_.intermediate;
    const double row = 4.0 * config_.mixed() + (config_.gate ? 3 : 2) * wide;
    const double attention = 2.0 * config_.mixed() * attended_pairs(tokens, kernels::kNoWindow);
    return config_.layers * (n * hidden * row + attention);
  }

 private:
  void run_layer(const T5LayerWeights& w, const Pass& pass) const {
    for_blocks(pass, [&](const Block& block) {
      block.project(w.qkv, block.normalized(w.attention_norm));
    });
    const kernels::DistanceTerms terms = weights_.distances.terms();
    attend(pass.kernels, w.qkv.format(), shape(), kernels::kNoWindow, pass.scratch, pass.workers,
           &terms);
    for_blocks(pass, [&](const Block& block) {
      block.add(w.attention_out, block.mixed());
      const float* x = block.normalized(w.mlp_norm);
      if (config_.gate) {
        block.feed_forward(w.up, *config_.gate, w.down, x);
      } else {
        block.feed_forward(w.up, config_.activation, w.down, x);
      }
    });
  }

  const T5Config config_;
  const T5Weights weights_;
  const kernels::Table& kernels_;
};

}  // namespace

Result<std::unique_ptr<const Trunk>> open_t5(const weights::HfConfig& config,
                                             const weights::SafeTensors& file,
                                             const TrunkOptions& options) {
  SIGNALBOX_TRY(const T5Config t5, read_t5_config(config));
  SIGNALBOX_TRY(T5Weights weights,
                load_t5_weights(file, t5, std::max(t5.tokens_max, kT5IdsMax), options));
  return std::make_unique<const T5>(t5, std::move(weights), options);
}

}  // namespace signalbox::engine
