// Embeddings and their norm, then per layer: norm, attention, add; norm, gated feed-forward, add;
// after the last a final norm. Attention runs text by text, everything else block by block over the
// whole batch.

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
          .wide = 2 * config.intermediate};
}

class ModernBert final : public Trunk {
 public:
  ModernBert(const ModernBertConfig& config, ModernBertWeights weights,
             const kernels::Table& kernels)
      : Trunk(shape_of(config)),
        config_(config),
        weights_(std::move(weights)),
        kernels_(kernels),
        global_rope_(config.global_rope, config.head_dim()),
        local_rope_(config.local_rope, config.head_dim()) {}

  void encode(Scratch& s, int32_t layers) const override {
    embed(s);
    for (int32_t layer = 0; layer < layers; ++layer) {
      const ModernBertLayerWeights& w = weights_.layers[layer];
      project(w, s);
      attend(config_.layers_global[layer], s);
      feed_forward(w, s);
    }
    weights_.final_norm.apply(kernels_, s.batch.tokens(), config_.norm_eps, s.x.data(), s.x.data());
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
  void embed(Scratch& s) const {
    const int64_t hidden = config_.hidden;
    for (int64_t row = 0; row < s.batch.tokens(); ++row) {
      widen(weights_.tokens, s.batch.ids[row] * hidden, kernels_,
            {s.x.data() + row * hidden, static_cast<size_t>(hidden)});
    }
    weights_.embedding_norm.apply(kernels_, s.batch.tokens(), config_.norm_eps, s.x.data(),
                                  s.x.data());
  }

  void project(const ModernBertLayerWeights& w, Scratch& s) const {
    for_blocks(s.batch.tokens(), [&](int64_t begin, int32_t rows) {
      const float* x = s.x.data() + begin * config_.hidden;  // (rows, hidden)
      if (w.attention_norm) {
        w.attention_norm->apply(kernels_, rows, config_.norm_eps, x, s.normed.data());
        x = s.normed.data();
      }
      w.qkv.apply(kernels_, rows, x, s.qkv.data() + begin * w.qkv.out());
    });
  }

  void attend(bool global, Scratch& s) const {
    const int64_t hidden = config_.hidden;
    const Rope& rope = global ? global_rope_ : local_rope_;
    const int32_t window = global ? kernels::kNoWindow : config_.window;
    for (int32_t sequence = 0; sequence < s.batch.sequences(); ++sequence) {
      const int64_t begin = s.batch.begin(sequence);
      const int32_t length = s.batch.length(sequence);
      float* qkv = s.qkv.data() + begin * 3 * hidden;  // (length, 3, hidden)
      kernels_.rope(length, config_.heads, config_.head_dim(),
                    rope.rotations(length, s.rotations[global ? 0 : 1]), qkv);
      kernels_.attention({length, config_.heads, config_.head_dim(), window}, qkv,
                         s.attention.data(), s.mixed.data() + begin * hidden);
    }
  }

  void feed_forward(const ModernBertLayerWeights& w, Scratch& s) const {
    const int64_t hidden = config_.hidden;
    for_blocks(s.batch.tokens(), [&](int64_t begin, int32_t rows) {
      float* x = s.x.data() + begin * hidden;  // (rows, hidden)
      w.attention_out.apply(kernels_, rows, s.mixed.data() + begin * hidden, s.projected.data());
      kernels_.add(rows * hidden, s.projected.data(), x);
      w.mlp_norm.apply(kernels_, rows, config_.norm_eps, x, s.normed.data());
      w.up.apply(kernels_, rows, s.normed.data(), s.up.data());
      kernels_.geglu(rows, config_.intermediate, s.up.data(), s.up.data());
      w.down.apply(kernels_, rows, s.up.data(), s.projected.data());
      kernels_.add(rows * hidden, s.projected.data(), x);
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
                                                      const kernels::Table& kernels) {
  SIGNALBOX_TRY(const ModernBertConfig modern, read_modern_bert_config(config));
  SIGNALBOX_TRY(ModernBertWeights weights, load_modern_bert_weights(file, modern, kernels));
  return std::make_unique<const ModernBert>(modern, std::move(weights), kernels);
}

}  // namespace signalbox::engine
