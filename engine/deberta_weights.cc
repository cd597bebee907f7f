// Maps the tensor names of Hugging Face's DebertaV2Model to fields.

#include "engine/deberta_weights.h"

#include <string>

#include "engine/gliner_config.h"
#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

constexpr const char* kDebertaTokens = "embeddings.word_embeddings.weight";

Embeddings read_embeddings(TensorReader& reader, const DebertaConfig& config) {
  const int64_t width = config.embedding;
  Embeddings out;
  out.tokens = reader.table(kDebertaTokens, {config.vocabulary, width});
  if (config.positions > 0)
    out.positions = reader.read("embeddings.position_embeddings.weight", {config.positions, width});
  if (config.types > 0)
    out.types = reader.read("embeddings.token_type_embeddings.weight", {config.types, width});
  if (config.embedding != config.hidden) {
    out.projection = reader.linear("embeddings.embed_proj", config.embedding, config.hidden, false);
  }
  out.projects_first = true;
  out.norm = reader.norm("embeddings.LayerNorm", config.hidden, true);
  out.width = config.embedding;
  return out;
}

// Returns the vectors of the used distances, (distances, hidden).
Buffer<float> read_distances(TensorReader& reader, const DebertaConfig& config,
                             const DistanceRows& distances, const kernels::Table& kernels) {
  const int64_t hidden = config.hidden;
  const auto table = reader.read("encoder.rel_embeddings.weight", {2 * config.span, hidden});
  Norm norm;
  if (config.normalizes_distances) norm = reader.norm("encoder.LayerNorm", config.hidden, true);
  if (!reader.status()) return {};
  Buffer<float> out(distances.used.size() * hidden);
  float* to = out.data();
  for (const int32_t row : distances.used)
    to = std::copy_n(table.data() + row * hidden, hidden, to);
  if (config.normalizes_distances) {
    norm.apply(kernels, static_cast<int32_t>(distances.used.size()), config.norm_eps, out.data(),
               out.data());
  }
  return out;
}

// Returns columns [first, first + hidden) of x w^T + bias, x (rows, hidden).
Buffer<float> project(const Linear& layer, int64_t first, const Buffer<float>& x,
                      const kernels::Table& kernels) {
  const int32_t hidden = layer.in();
  const auto rows = static_cast<int32_t>(x.size() / hidden);
  Operands operands;
  operands.reserve(rows, hidden);
  Buffer<float> all(int64_t{rows} * layer.out()), out(x.size());
  layer.apply(kernels, rows, x.data(), kernels::Finish::kStore, operands, all.data());
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(all.data() + row * layer.out() + first, hidden, out.data() + row * hidden);
  return out;
}

// `distances` (distances, hidden) is empty if they do not count.
DebertaLayerWeights read_layer(TensorReader& reader, const DebertaConfig& config,
                               const Buffer<float>& distances, const kernels::Table& kernels,
                               int32_t layer) {
  const int32_t h = config.hidden, m = config.intermediate;
  const std::string at = fmt::format("encoder.layer.{}.", layer), self = at + "attention.self.";
  const bool relative = distances.size() > 0;
  const bool shares = relative && config.shares_projections;
  DebertaLayerWeights w;
  w.qkv = reader.linear({.parts = {self + "query_proj", self + "key_proj", self + "value_proj"},
                         .name = self + "qkv_proj",
                         .in = h,
                         .out = 3 * h,
                         .bias = true,
                         .fixed_parts = shares ? 2 : 0});
  w.attention_out = reader.linear(at + "attention.output.dense", h, h, true);
  w.attention_norm = reader.norm(at + "attention.output.LayerNorm", h, true);
  w.up = reader.linear(at + "intermediate.dense", h, m, true);
  w.down = reader.linear(at + "output.dense", m, h, true);
  w.output_norm = reader.norm(at + "output.LayerNorm", h, true);
  const auto vectors = [&](const std::string& name, int64_t shared_at) -> Buffer<float> {
    if (shares)
      return reader.status() ? project(w.qkv, shared_at, distances, kernels) : Buffer<float>();
    const Linear own = reader.linear({.parts = {self + name},
                                      .name = self + name,
                                      .in = h,
                                      .out = h,
                                      .bias = true,
                                      .fixed_parts = 1});
    return reader.status() ? project(own, 0, distances, kernels) : Buffer<float>();
  };
  if (relative && config.reads_keys) w.distance_keys = vectors("pos_key_proj", h);
  if (relative && config.reads_queries) w.distance_queries = vectors("pos_query_proj", 0);
  return w;
}

DebertaConvolution read_convolution(TensorReader& reader, const DebertaConfig& config) {
  const int32_t h = config.hidden;
  DebertaConvolution out;
  out.taps = reader.linear({.parts = {"encoder.conv.conv"},
                            .name = "encoder.conv.conv",
                            .in = config.taps * h,
                            .out = h,
                            .bias = true,
                            .taps = config.taps});
  out.norm = reader.norm("encoder.conv.LayerNorm", h, true);
  return out;
}

}  // namespace

Result<DebertaWeights> load_deberta_weights(const weights::SafeTensors& file,
                                            const DebertaConfig& config,
                                            const DistanceRows& distances,
                                            const TrunkOptions& options) {
  TensorReader reader = read_weights(
      file, options, prefix_of(file, {"deberta.", kGlinerEncoder, ""}, kDebertaTokens));
  DebertaWeights out;
  out.embeddings = read_embeddings(reader, config);
  Buffer<float> vectors;
  if (config.relative) vectors = read_distances(reader, config, distances, options.kernels);
  if (config.taps > 0) out.convolution = read_convolution(reader, config);
  uint64_t computed = 0;
  for (int32_t layer = 0; layer < config.layers && reader.status(); ++layer) {
    reader.set_format(options.format_of(layer));
    out.layers.push_back(read_layer(reader, config, vectors, options.kernels, layer));
    const DebertaLayerWeights& w = out.layers.back();
    computed += (w.distance_keys.size() + w.distance_queries.size()) * sizeof(float);
  }
  SIGNALBOX_TRY(out.memory, finish_weights(reader, options));
  out.memory.bytes += computed;
  return out;
}

}  // namespace signalbox::engine
