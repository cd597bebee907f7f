// Embeddings, then per layer: norm, attention, add; norm, gated feed-forward, add. A final norm
// follows the last layer. Attention runs head by head; everything else runs block by block over the
// whole batch.

#include "engine/decoder.h"

#include "engine/decoder_weights.h"
#include "engine/scratch.h"

namespace signalbox::engine {
namespace {

TrunkShape shape_of(const DecoderConfig& config) {
  return {.vocabulary = config.vocabulary,
          .types = 1,
          .tokens_max = config.tokens_max,
          .layers = config.layers(),
          .hidden = config.hidden,
          .heads = config.heads,
          .wide = config.intermediate,
          .head_width = config.head_dim,
          .kv_heads = config.kv_heads,
          .causal = config.causal};
}

class Decoder final : public Trunk {
 public:
  Decoder(const DecoderConfig& config, DecoderWeights weights, const TrunkOptions& options)
      : Trunk(shape_of(config), weights.bytes),
        config_(config),
        weights_(std::move(weights)),
        kernels_(options.kernels),
        full_rope_(config.full_rope, config.head_dim),
        window_rope_(config.window_rope, config.head_dim) {}

  void encode(Scratch& s, int32_t layers, Workers& workers) const override {
    full_rope_.prepare(s.batch, s.global_rope);
    window_rope_.prepare(s.batch, s.local_rope);
    embed(s, workers);
    for (int32_t layer = 0; layer < layers; ++layer) {
      const DecoderLayerWeights& w = weights_.layers[layer];
      const int32_t window = config_.windows[layer];
      project(w, window == kernels::kNoWindow ? s.global_rope : s.local_rope, s, workers);
      attend(kernels_, w.qkv.format(), shape(), window, s, workers);
      feed_forward(w, s, workers);
    }
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch&) {
      float* x = s.x.data() + begin * config_.hidden;  // (rows, hidden)
      weights_.final_norm.apply(kernels_, rows, config_.norm_eps, x, x);
    });
  }

  double multiply_adds(int32_t tokens) const override {
    const double n = tokens, hidden = config_.hidden;
    const double row = static_cast<double>(shape().qkv()) + shape().mixed() + 3.0 * shape().wide;
    double out = config_.layers() * n * hidden * row;
    for (const int32_t window : config_.windows)
      out += 2 * shape().mixed() * attended_pairs(tokens, window, config_.causal);
    return out;
  }

 private:
  void embed(Scratch& s, Workers& workers) const {
    const int64_t hidden = config_.hidden;
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch&) {
      for (int64_t row = begin; row < begin + rows; ++row) {
        const std::span x(s.x.data() + row * hidden, static_cast<size_t>(hidden));
        widen(weights_.tokens, s.batch.ids[row] * hidden, kernels_, x);
        for (float& value : x) value *= config_.embedding_scale;
      }
    });
  }

  void project(const DecoderLayerWeights& w, const RopeTables& rope, Scratch& s,
               Workers& workers) const {
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch& b) {
      const float* x = s.x.data() + begin * config_.hidden;  // (rows, hidden)
      float* qkv = s.qkv.data() + begin * shape().qkv();     // (rows, qkv)
      w.attention_norm.apply(kernels_, rows, config_.norm_eps, x, b.normed.data());
      multiply(w.qkv, kernels_, s.batch, begin, rows, b.normed.data(), kernels::Finish::kStore, b,
               qkv);
      normalize_heads(w, rows, qkv);
      rotate(kernels_, shape(), rope, s.batch, begin, rows, qkv);
    });
  }

  void normalize_heads(const DecoderLayerWeights& w, int32_t rows, float* qkv) const {
    for (int32_t row = 0; row < rows; ++row, qkv += shape().qkv()) {
      float* keys = qkv + shape().mixed();
      w.query_norm.apply(kernels_, config_.heads, config_.norm_eps, qkv, qkv);
      w.key_norm.apply(kernels_, config_.kv_heads, config_.norm_eps, keys, keys);
    }
  }

  void feed_forward(const DecoderLayerWeights& w, Scratch& s, Workers& workers) const {
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch& b) {
      float* x = s.x.data() + begin * config_.hidden;  // (rows, hidden)
      const float* mixed = s.mixed.data() + begin * shape().mixed();
      add_branch(w.attention_out, w.attention_branch_norm, s.batch, begin, rows, mixed, b, x);
      w.mlp_norm.apply(kernels_, rows, config_.norm_eps, x, b.normed.data());
      multiply(w.up, kernels_, s.batch, begin, rows, b.normed.data(), config_.gate, b, b.up.data());
      add_branch(w.down, w.mlp_branch_norm, s.batch, begin, rows, b.up.data(), b, x);
    });
  }

  // x (rows, hidden) += the branch's last product, normalised if the architecture does so.
  void add_branch(const Linear& layer, const std::optional<RmsNorm>& norm, const Batch& batch,
                  int64_t begin, int32_t rows, const float* branch, BlockScratch& b,
                  float* x) const {
    if (!norm) {
      multiply(layer, kernels_, batch, begin, rows, branch, kernels::Finish::kAdd, b, x);
      return;
    }
    float* y = b.normed.data();  // (rows, hidden)
    multiply(layer, kernels_, batch, begin, rows, branch, kernels::Finish::kStore, b, y);
    norm->apply(kernels_, rows, config_.norm_eps, y, y);
    kernels_.add(int64_t{rows} * config_.hidden, y, x);
  }

  const DecoderConfig config_;
  const DecoderWeights weights_;
  const kernels::Table& kernels_;
  const Rope full_rope_;
  const Rope window_rope_;
};

}  // namespace

Result<std::unique_ptr<const Trunk>> open_decoder(const DecoderConfig& config,
                                                  const weights::SafeTensors& file,
                                                  const TrunkOptions& options) {
  SIGNALBOX_TRY(DecoderWeights weights, load_decoder_weights(file, config, options));
  return std::make_unique<const Decoder>(config, std::move(weights), options);
}

}  // namespace signalbox::engine
