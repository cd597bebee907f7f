// Embeddings, then per layer: attention, add and norm; feed-forward, add and norm. Attention runs
// text by text, everything else block by block over the whole batch.

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
  Bert(const BertConfig& config, BertWeights weights, const kernels::Table& kernels)
      : Trunk(shape_of(config)), config_(config), weights_(std::move(weights)), kernels_(kernels) {}

  void encode(Scratch& s, int32_t layers) const override {
    embed(s);
    for (int32_t layer = 0; layer < layers; ++layer) {
      attend(weights_.layers[layer], s);
      feed_forward(weights_.layers[layer], s);
    }
  }

  double multiply_adds(int32_t tokens) const override {
    const double n = tokens, hidden = config_.hidden, wide = config_.intermediate;
    const double products = n * hidden * (4 * hidden + 2 * wide);
    const double attention = 2 * hidden * attended_pairs(tokens, kernels::kNoWindow);
    return config_.layers * (products + attention);
  }

 private:
  void embed(Scratch& s) const {
    const int64_t hidden = config_.hidden;
    for (int32_t sequence = 0; sequence < s.batch.sequences(); ++sequence) {
      for (int64_t position = 0; position < s.batch.length(sequence); ++position) {
        const int64_t row = s.batch.begin(sequence) + position;
        float* x = s.x.data() + row * hidden;  // (hidden)
        widen(weights_.tokens, s.batch.ids[row] * hidden, kernels_,
              {x, static_cast<size_t>(hidden)});
        kernels_.add(hidden, weights_.types.data() + s.batch.types[row] * hidden, x);
        kernels_.add(hidden,
                     weights_.positions.data() + (config_.first_position + position) * hidden, x);
      }
    }
    weights_.norm.apply(kernels_, s.batch.tokens(), config_.norm_eps, s.x.data(), s.x.data());
  }

  void attend(const BertLayerWeights& w, Scratch& s) const {
    const int64_t hidden = config_.hidden;
    w.qkv.apply(kernels_, s.batch.tokens(), s.x.data(), s.qkv.data());
    for (int32_t sequence = 0; sequence < s.batch.sequences(); ++sequence) {
      const int64_t begin = s.batch.begin(sequence);
      kernels_.attention({s.batch.length(sequence), config_.heads, config_.head_dim()},
                         s.qkv.data() + begin * 3 * hidden, s.attention.data(),
                         s.mixed.data() + begin * hidden);
    }
    for_blocks(s.batch.tokens(), [&](int64_t begin, int32_t rows) {
      w.attention_out.multiply(kernels_, rows, s.mixed.data() + begin * hidden, s.projected.data());
      add_and_norm(w.attention_out, w.attention_norm, rows, s.projected.data(),
                   s.x.data() + begin * hidden);
    });
  }

  void feed_forward(const BertLayerWeights& w, Scratch& s) const {
    for_blocks(s.batch.tokens(), [&](int64_t begin, int32_t rows) {
      float* x = s.x.data() + begin * config_.hidden;  // (rows, hidden)
      w.up.multiply(kernels_, rows, x, s.up.data());
      kernels_.add_bias_gelu(rows, w.up.out(), w.up.bias(), s.up.data());
      w.down.multiply(kernels_, rows, s.up.data(), s.projected.data());
      add_and_norm(w.down, w.output_norm, rows, s.projected.data(), x);
    });
  }

  // x = norm(x + projected + the bias of the product that made it).
  void add_and_norm(const Linear& product, const Norm& norm, int32_t rows, const float* projected,
                    float* x) const {
    kernels_.add_bias_residual_norm(rows, config_.hidden, projected, product.bias(),
                                    norm.gamma.data(), norm.beta.data(), config_.norm_eps, x);
  }

  const BertConfig config_;
  const BertWeights weights_;
  const kernels::Table& kernels_;
};

}  // namespace

Result<std::unique_ptr<const Trunk>> open_bert(const weights::HfConfig& config,
                                               const weights::SafeTensors& file,
                                               const kernels::Table& kernels) {
  SIGNALBOX_TRY(const BertConfig bert, read_bert_config(config));
  SIGNALBOX_TRY(BertWeights weights, load_bert_weights(file, bert, kernels));
  return std::make_unique<const Bert>(bert, std::move(weights), kernels);
}

}  // namespace signalbox::engine
