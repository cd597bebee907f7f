// Embeddings, then per layer: attention, add and norm; feed-forward, add and norm. Attention runs
// head by head; everything else runs block by block over the whole batch.

#include "engine/bert.h"

#include "engine/bert_weights.h"
#include "engine/scratch.h"

namespace signalbox::engine {
namespace {

TrunkShape shape_of(const BertConfig& config) {
  return {.vocabulary = config.vocabulary,
          .types = config.types,
          .tokens_max = config.tokens_max(),
          .layers = config.layers,
          .hidden = config.hidden,
          .heads = config.heads,
          .wide = config.intermediate};
}

class Bert final : public Trunk {
 public:
  Bert(const BertConfig& config, BertWeights weights, const TrunkOptions& options)
      : Trunk(shape_of(config), weights.bytes),
        config_(config),
        weights_(std::move(weights)),
        kernels_(options.kernels) {}

  void encode(Scratch& s, int32_t layers, Workers& workers) const override {
    embed(s, workers);
    for (int32_t layer = 0; layer < layers; ++layer) {
      const BertLayerWeights& w = weights_.layers[layer];
      project(w, s, workers);
      attend(kernels_, w.qkv.format(), shape(), kernels::kNoWindow, s, workers);
      feed_forward(w, s, workers);
    }
  }

  double multiply_adds(int32_t tokens) const override {
    const double n = tokens, hidden = config_.hidden, wide = config_.intermediate;
    const double products = n * hidden * (4 * hidden + 2 * wide);
    const double attention = 2 * hidden * attended_pairs(tokens, kernels::kNoWindow);
    return config_.layers * (products + attention);
  }

 private:
  void embed(Scratch& s, Workers& workers) const {
    const int64_t hidden = config_.hidden;
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch&) {
      for (int64_t row = begin; row < begin + rows; ++row) {
        const int64_t position =
            row - s.batch.begin(s.batch.sequence_of(static_cast<int32_t>(row)));
        float* x = s.x.data() + row * hidden;  // (hidden)
        widen(weights_.tokens, s.batch.ids[row] * hidden, kernels_,
              {x, static_cast<size_t>(hidden)});
        kernels_.add(hidden, weights_.types.data() + s.batch.types[row] * hidden, x);
        kernels_.add(hidden,
                     weights_.positions.data() + (config_.first_position + position) * hidden, x);
      }
      float* x = s.x.data() + begin * hidden;  // (rows, hidden)
      weights_.norm.apply(kernels_, rows, config_.norm_eps, x, x);
    });
  }

  void project(const BertLayerWeights& w, Scratch& s, Workers& workers) const {
    const int64_t hidden = config_.hidden;
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch& b) {
      multiply(w.qkv, kernels_, s.batch, begin, rows, s.x.data() + begin * hidden,
               kernels::Finish::kStore, b, s.qkv.data() + begin * 3 * hidden);
    });
  }

  void feed_forward(const BertLayerWeights& w, Scratch& s, Workers& workers) const {
    using kernels::Finish;
    const int64_t hidden = config_.hidden;
    for_blocks(s, workers, s.batch.tokens(), [&](int64_t begin, int32_t rows, BlockScratch& b) {
      float* x = s.x.data() + begin * hidden;  // (rows, hidden)
      const float* mixed = s.mixed.data() + begin * hidden;
      multiply(w.attention_out, kernels_, s.batch, begin, rows, mixed, Finish::kAdd, b, x);
      w.attention_norm.apply(kernels_, rows, config_.norm_eps, x, x);
      multiply(w.up, kernels_, s.batch, begin, rows, x, Finish::kGelu, b, b.up.data());
      multiply(w.down, kernels_, s.batch, begin, rows, b.up.data(), Finish::kAdd, b, x);
      w.output_norm.apply(kernels_, rows, config_.norm_eps, x, x);
    });
  }

  const BertConfig config_;
  const BertWeights weights_;
  const kernels::Table& kernels_;
};

}  // namespace

Result<std::unique_ptr<const Trunk>> open_bert(const weights::HfConfig& config,
                                               const weights::SafeTensors& file,
                                               const TrunkOptions& options) {
  SIGNALBOX_TRY(const BertConfig bert, read_bert_config(config));
  SIGNALBOX_TRY(BertWeights weights, load_bert_weights(file, bert, options));
  return std::make_unique<const Bert>(bert, std::move(weights), options);
}

}  // namespace signalbox::engine
