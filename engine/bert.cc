// Embeddings, then per layer: attention, add and norm; feed-forward, add and norm.

#include "engine/bert.h"

#include <algorithm>

#include "engine/bert_weights.h"

namespace signalbox::engine {
namespace {

TrunkShape shape_of(const BertConfig& config) {
  return {.vocabulary = config.vocabulary,
          .types = std::max(config.types, 1),
          .tokens_max = config.tokens_max,
          .layers = config.layers(),
          .hidden = config.hidden,
          .heads = config.heads,
          .wide = std::max(config.intermediate, config.embedding),
          .resumes = true};
}

class Bert final : public Trunk {
 public:
  Bert(BertConfig config, BertWeights weights, const TrunkOptions& options)
      : Trunk(shape_of(config), weights.memory.bytes),
        config_(std::move(config)),
        weights_(std::move(weights)),
        kernels_(options.kernels) {
    if (config_.rope) rope_.emplace(*config_.rope, config_.head_dim());
    if (weights_.distances) terms_ = weights_.distances->terms();
  }

  void encode(Scratch& s, int32_t layers, Workers& workers) const override {
    embed(weights_.embeddings, {kernels_, shape(), config_.norm_eps, s, workers});
    resume(s, 0, layers, workers);
  }

  void resume(Scratch& s, int32_t from, int32_t to, Workers& workers) const override {
    const Pass pass{kernels_, shape(), config_.norm_eps, s, workers};
    if (rope_) rope_->prepare(s.batch, s.global_rope);
    for (int32_t layer = from; layer < to; ++layer)
      run_layer(weights_.layers[config_.order[layer]], pass);
  }

  double multiply_adds(int32_t tokens) const override {
    const double n = tokens, hidden = config_.hidden, wide = config_.intermediate;
    const double products = n * hidden * (4 * hidden + (config_.gate ? 3 : 2) * wide);
    const double attention = 2 * hidden * attended_pairs(tokens, kernels::kNoWindow);
    return config_.layers() * (products + attention);
  }

 private:
  void run_layer(const BertLayerWeights& w, const Pass& pass) const {
    for_blocks(pass, [&](const Block& block) {
      block.project(w.qkv, block.x());
      if (rope_) block.rotate(pass.scratch.global_rope);
    });
    attend(pass.kernels, w.qkv.format(), shape(), kernels::kNoWindow, pass.scratch, pass.workers,
           weights_.distances ? &terms_ : nullptr);
    for_blocks(pass, [&](const Block& block) {
      block.add(w.attention_out, block.mixed());
      block.normalize(w.attention_norm);
      if (config_.gate) {
        block.feed_forward(w.up, *config_.gate, w.down, block.x());
      } else {
        block.feed_forward(w.up, config_.activation, w.down, block.x());
      }
      block.normalize(w.output_norm);
    });
  }

  const BertConfig config_;
  const BertWeights weights_;
  const kernels::Table& kernels_;
  std::optional<Rope> rope_;
  kernels::DistanceTerms terms_;
};

}  // namespace

Result<std::unique_ptr<const Trunk>> open_bert(BertConfig bert, const weights::SafeTensors& file,
                                               const TrunkOptions& options) {
  SIGNALBOX_TRY(BertWeights weights, load_bert_weights(file, bert, options));
  return std::make_unique<const Bert>(std::move(bert), std::move(weights), options);
}

}  // namespace signalbox::engine
