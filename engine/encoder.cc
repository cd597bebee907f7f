// Embeddings, then per layer: attention, add and norm; feed-forward, add and norm. Matrix products
// run over the whole batch at once; attention runs text by text.

#include "engine/encoder.h"

namespace signalbox::engine {
namespace {

class Pass {
 public:
  Pass(const BertConfig& config, const BertWeights& weights, const kernels::Table& kernels,
       Scratch& scratch)
      : config_(config),
        weights_(weights),
        kernels_(kernels),
        s_(scratch),
        tokens_(scratch.batch.tokens()) {}

  void run() {
    embed();
    for (const BertLayerWeights& layer : weights_.layers) {
      attend(layer);
      feed_forward(layer);
    }
  }

 private:
  void embed() {
    const int64_t hidden = config_.hidden;
    for (int32_t sequence = 0; sequence < s_.batch.sequences(); ++sequence) {
      for (int64_t position = 0; position < s_.batch.length(sequence); ++position) {
        const int64_t row = s_.batch.begin(sequence) + position;
        float* x = s_.x.data() + row * hidden;  // (hidden)
        widen(weights_.tokens, s_.batch.ids[row] * hidden, kernels_,
              {x, static_cast<size_t>(hidden)});
        kernels_.add(hidden, weights_.positions.data() + position * hidden, x);
      }
    }
    kernels_.layer_norm(tokens_, config_.hidden, weights_.norm.gamma.data(),
                        weights_.norm.beta.data(), config_.norm_eps, s_.x.data(), s_.x.data());
  }

  void attend(const BertLayerWeights& w) {
    const int64_t hidden = config_.hidden;
    w.qkv.multiply(kernels_, tokens_, s_.x.data(), s_.qkv.data());
    kernels_.add_bias(tokens_, w.qkv.out(), w.qkv.bias(), s_.qkv.data());
    for (int32_t sequence = 0; sequence < s_.batch.sequences(); ++sequence) {
      const int64_t begin = s_.batch.begin(sequence);
      kernels_.attention({s_.batch.length(sequence), config_.heads, config_.head_dim()},
                         s_.qkv.data() + begin * 3 * hidden, s_.attention.data(),
                         s_.mixed.data() + begin * hidden);
    }
    w.attention_out.multiply(kernels_, tokens_, s_.mixed.data(), s_.projected.data());
    add_and_norm(w.attention_out, w.attention_norm);
  }

  void feed_forward(const BertLayerWeights& w) {
    w.up.multiply(kernels_, tokens_, s_.x.data(), s_.up.data());
    kernels_.add_bias_gelu(tokens_, w.up.out(), w.up.bias(), s_.up.data());
    w.down.multiply(kernels_, tokens_, s_.up.data(), s_.projected.data());
    add_and_norm(w.down, w.output_norm);
  }

  // x = norm(x + projected + the bias of the product that made it).
  void add_and_norm(const Linear& product, const BertNorm& norm) {
    kernels_.add_bias_residual_norm(tokens_, config_.hidden, s_.projected.data(), product.bias(),
                                    norm.gamma.data(), norm.beta.data(), config_.norm_eps,
                                    s_.x.data());
  }

  const BertConfig& config_;
  const BertWeights& weights_;
  const kernels::Table& kernels_;
  Scratch& s_;
  const int32_t tokens_;
};

}  // namespace

void encode(const BertConfig& config, const BertWeights& weights, const kernels::Table& kernels,
            Scratch& scratch) {
  SIGNALBOX_CHECK(static_cast<int64_t>(scratch.x.size()) >=
                  int64_t{scratch.batch.tokens()} * config.hidden);
  Pass(config, weights, kernels, scratch).run();
}

}  // namespace signalbox::engine
