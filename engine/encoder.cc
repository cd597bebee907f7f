// Embeddings, then per layer: attention, add and norm; feed-forward, add and norm.
//
// Matrix products run sequence by sequence. OpenBLAS may sum a row in another order when the number
// of rows changes (seen on its Haswell and Zen kernels), so one product over the whole batch would
// make a text's result depend on the texts beside it. The products of one sequence are the same
// calls whatever the batch.

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
    kernels_.layer_norm(tokens_, config_.hidden, weights_.gamma.data(), weights_.beta.data(),
                        config_.norm_eps, s_.x.data());
  }

  void attend(const BertLayerWeights& w) {
    const int32_t hidden = config_.hidden;
    linear(s_.x, hidden, w.qkv, 3 * hidden, s_.qkv);
    kernels_.add_bias(tokens_, 3 * hidden, w.qkv_bias.data(), s_.qkv.data());
    for (int32_t sequence = 0; sequence < s_.batch.sequences(); ++sequence) {
      const int64_t begin = s_.batch.begin(sequence);
      kernels_.attention({s_.batch.length(sequence), config_.heads, config_.head_dim()},
                         s_.qkv.data() + begin * 3 * hidden, s_.attention.data(),
                         s_.mixed.data() + begin * hidden);
    }
    linear(s_.mixed, hidden, w.attention_out, hidden, s_.projected);
    kernels_.add_bias_residual_norm(tokens_, hidden, s_.projected.data(), w.attention_bias.data(),
                                    w.attention_gamma.data(), w.attention_beta.data(),
                                    config_.norm_eps, s_.x.data());
  }

  void feed_forward(const BertLayerWeights& w) {
    const int32_t hidden = config_.hidden;
    linear(s_.x, hidden, w.up, config_.intermediate, s_.up);
    kernels_.add_bias_gelu(tokens_, config_.intermediate, w.up_bias.data(), s_.up.data());
    linear(s_.up, config_.intermediate, w.down, hidden, s_.projected);
    kernels_.add_bias_residual_norm(tokens_, hidden, s_.projected.data(), w.down_bias.data(),
                                    w.output_gamma.data(), w.output_beta.data(), config_.norm_eps,
                                    s_.x.data());
  }

  // y (tokens, out) = x (tokens, in) w^T, sequence by sequence.
  void linear(const Buffer<float>& x, int64_t in, const Buffer<float>& w, int64_t out,
              Buffer<float>& y) {
    for (int32_t sequence = 0; sequence < s_.batch.sequences(); ++sequence) {
      const int64_t begin = s_.batch.begin(sequence);
      kernels_.linear_f32(s_.batch.length(sequence), static_cast<int32_t>(in),
                          static_cast<int32_t>(out), x.data() + begin * in, w.data(),
                          y.data() + begin * out);
    }
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
