// Embeddings, then per layer: attention, add and norm; feed-forward, add and norm. Attention also
// reads the distances of tokens. Beside the first layer there may be a convolution of the
// embeddings.

#include "engine/deberta.h"

#include <algorithm>

#include "engine/deberta_weights.h"

namespace signalbox::engine {
namespace {

// Without a table of positions nothing limits a text but the memory of its attention.
constexpr int32_t kIdsMax = 8192;

int32_t ids_max(const DebertaConfig& config) {
  return config.positions > 0 ? config.tokens_max : std::max(config.tokens_max, kIdsMax);
}

DistanceRows distances_of(const DebertaConfig& config) {
  return {config.relative ? ids_max(config) : 1,
          [&](int32_t distance) { return config.row_of(distance); }};
}

TrunkShape shape_of(const DebertaConfig& config, const DistanceRows& distances) {
  return {.vocabulary = config.vocabulary,
          .types = std::max(config.types, 1),
          .tokens_max = config.tokens_max,
          .ids_max = ids_max(config),
          .layers = config.layers,
          .hidden = config.hidden,
          .heads = config.heads,
          .wide = std::max({config.intermediate, config.embedding, config.taps * config.hidden}),
          .score_scale = config.score_scale(),
          .distances = config.relative ? static_cast<int32_t>(distances.used.size()) : 0,
          .has_side = config.taps > 0};
}

class Deberta final : public Trunk {
 public:
  Deberta(const DebertaConfig& config, DistanceRows distances, DebertaWeights weights,
          const TrunkOptions& options)
      : Trunk(shape_of(config, distances), weights.memory.bytes),
        config_(config),
        distances_(std::move(distances)),
        weights_(std::move(weights)),
        kernels_(options.kernels) {}

  void encode(Scratch& s, int32_t layers, Workers& workers) const override {
    const Pass pass{kernels_, shape(), config_.norm_eps, s, workers};
    embed(weights_.embeddings, pass);
    const bool convolves = weights_.convolution && layers > 0;
    if (convolves) convolve(weights_.convolution->taps, pass);
    for (int32_t layer = 0; layer < layers; ++layer) {
      run_layer(weights_.layers[layer], pass);
      if (convolves && layer == 0) add_convolution(weights_.convolution->norm, pass);
    }
  }

  double multiply_adds(int32_t tokens) const override {
    const double n = tokens, hidden = config_.hidden, wide = config_.intermediate;
    const double read = (config_.reads_keys ? 1 : 0) + (config_.reads_queries ? 1 : 0);
    const double attention = 2 * hidden * attended_pairs(tokens, kernels::kNoWindow) +
                             read * n * hidden * std::min(2 * n - 1, double(shape().distances));
    return config_.layers * (n * hidden * (4 * hidden + 2 * wide) + attention) +
           n * hidden * hidden * config_.taps;
  }

 private:
  void run_layer(const DebertaLayerWeights& w, const Pass& pass) const {
    for_blocks(pass, [&](const Block& block) { block.project(w.qkv, block.x()); });
    const kernels::DistanceTerms terms{
        .rows = config_.relative ? distances_.center() : nullptr,
        .keys = w.distance_keys.size() > 0 ? w.distance_keys.data() : nullptr,
        .queries = w.distance_queries.size() > 0 ? w.distance_queries.data() : nullptr};
    attend(pass.kernels, w.qkv.format(), shape(), kernels::kNoWindow, pass.scratch, pass.workers,
           &terms);
    for_blocks(pass, [&](const Block& block) {
      block.add(w.attention_out, block.mixed());
      block.normalize(w.attention_norm);
      block.feed_forward(w.up, config_.activation, w.down, block.x());
      block.normalize(w.output_norm);
    });
  }

  // side = activation(the embeddings of each token and its neighbours times the taps).
  void convolve(const Linear& taps, const Pass& pass) const {
    for_blocks(pass, [&](const Block& block) {
      float* side = block.side();
      block.store(taps, block.neighbours(config_.taps), side);
      activate(kernels_, config_.tap_activation, int64_t{block.rows()} * config_.hidden, side);
    });
  }

  void add_convolution(const Norm& norm, const Pass& pass) const {
    for_blocks(pass, [&](const Block& block) {
      kernels_.add(int64_t{block.rows()} * config_.hidden, block.side(), block.x());
      block.normalize(norm);
    });
  }

  const DebertaConfig config_;
  const DistanceRows distances_;
  const DebertaWeights weights_;
  const kernels::Table& kernels_;
};

}  // namespace

Result<std::unique_ptr<const Trunk>> open_deberta(const weights::HfConfig& config,
                                                  const weights::SafeTensors& file,
                                                  const TrunkOptions& options) {
  SIGNALBOX_TRY(const DebertaConfig deberta, read_deberta_config(config));
  DistanceRows distances = distances_of(deberta);
  SIGNALBOX_TRY(DebertaWeights weights, load_deberta_weights(file, deberta, distances, options));
  return std::make_unique<const Deberta>(deberta, std::move(distances), std::move(weights),
                                         options);
}

}  // namespace signalbox::engine
