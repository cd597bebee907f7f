// Embeddings and their norm, then per layer: norm, attention, add; norm, gated feed-forward, add. A
// final norm follows the last layer. Attention runs head by head; everything else runs block by
// block over the whole batch.

#include "engine/modern_bert.h"

#include "engine/modern_bert_weights.h"
#include "engine/scratch.h"

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
      : Trunk(shape_of(config), weights.bytes),
        config_(config),
        weights_(std::move(weights)),
        kernels_(options.kernels),
        global_rope_(config.global_rope, config.head_dim()),
        local_rope_(config.local_rope, config.head_dim()) {}

  void encode(Scratch& s, int32_t layers, Workers& workers) const override {
    global_rope_.prepare(s.batch, s.global_rope);
    local_rope_.prepare(s.batch, s.local_rope);
    embed(s, workers);
    for (int32_t layer = 0; layer < layers; ++layer) {
      const ModernBertLayerWeights& w = weights_.layers[layer];
      const bool global = config_.layers_global[layer];
      project(w, global ? s.global_rope : s.local_rope, s, workers);
      attend(kernels_, w.qkv.format(), shape(), global ? kernels::kNoWindow : config_.window, s,
             workers);
      feed_forward(w, s, workers);
    }
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch&) {
      float* x = s.x.data() + begin * config_.hidden;  // (rows, hidden)
      weights_.final_norm.apply(kernels_, rows, config_.norm_eps, x, x);
    });
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
  void embed(Scratch& s, Workers& workers) const {
    const int64_t hidden = config_.hidden;
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch&) {
      float* x = s.x.data() + begin * hidden;  // (rows, hidden)
      for (int64_t row = 0; row < rows; ++row) {
        widen(weights_.tokens, s.batch.ids[begin + row] * hidden, kernels_,
              {x + row * hidden, static_cast<size_t>(hidden)});
      }
      weights_.embedding_norm.apply(kernels_, rows, config_.norm_eps, x, x);
    });
  }

  void project(const ModernBertLayerWeights& w, const RopeTables& rope, Scratch& s,
               Workers& workers) const {
    const int64_t hidden = config_.hidden;
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch& b) {
      const float* x = s.x.data() + begin * hidden;  // (rows, hidden)
      if (w.attention_norm) {
        w.attention_norm->apply(kernels_, rows, config_.norm_eps, x, b.normed.data());
        x = b.normed.data();
      }
      float* qkv = s.qkv.data() + begin * 3 * hidden;  // (rows, 3, hidden)
      multiply(w.qkv, kernels_, s.batch, begin, rows, x, kernels::Finish::kStore, b, qkv);
      rotate(kernels_, shape(), rope, s.batch, begin, rows, qkv);
    });
  }

  void feed_forward(const ModernBertLayerWeights& w, Scratch& s, Workers& workers) const {
    using kernels::Finish;
    const int64_t hidden = config_.hidden;
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch& b) {
      float* x = s.x.data() + begin * hidden;  // (rows, hidden)
      const float* mixed = s.mixed.data() + begin * hidden;
      multiply(w.attention_out, kernels_, s.batch, begin, rows, mixed, Finish::kAdd, b, x);
      w.mlp_norm.apply(kernels_, rows, config_.norm_eps, x, b.normed.data());
      multiply(w.up, kernels_, s.batch, begin, rows, b.normed.data(), Finish::kGeglu, b,
               b.up.data());
      multiply(w.down, kernels_, s.batch, begin, rows, b.up.data(), Finish::kAdd, b, x);
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
