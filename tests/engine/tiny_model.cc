// Writes the directory and evaluates the network in doubles.

#include "tests/engine/tiny_model.h"

#include <cmath>
#include <fstream>
#include <random>

#include "base/json_writer.h"
#include "kernels/ref/ref.h"

namespace signalbox::engine {
namespace {

using kernels::ref::Vector;

Vector add(const Vector& a, const Vector& b) {
  Vector out = a;
  for (size_t i = 0; i < out.size(); ++i) out[i] += b[i % b.size()];
  return out;
}

// y (rows, out) = x w^T + b in doubles.
Vector linear(const Vector& x, int64_t in, const std::vector<float>& w,
              const std::vector<float>& b) {
  const auto out = static_cast<int64_t>(b.size());
  const auto rows = static_cast<int64_t>(x.size()) / in;
  Vector y(rows * out);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = b[o];
      for (int64_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
      y[r * out + o] = sum;
    }
  }
  return y;
}

}  // namespace

TinyConfig tiny_config() {
  return {.vocabulary = 37,
          .positions = 24,
          .first_position = 0,
          .types = 2,
          .layers = 3,
          .hidden = 36,
          .heads = 3,
          .intermediate = 50,
          .norm_eps = 1e-5f};
}

TinyModel::TinyModel(TinyConfig config, const std::string& dtype, const std::string& tensor_prefix)
    : config_(config) {
  std::mt19937 random(42);
  std::normal_distribution<float> normal;
  const auto make = [&](const std::string& name, std::vector<int64_t> shape, float scale,
                        float offset = 0) {
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    std::vector<float> values(size);
    for (float& x : values) x = coarse(normal(random) * scale + offset);
    tensors_[name] = {std::move(shape), std::move(values)};
  };
  const int64_t h = config.hidden, m = config.intermediate;
  make("embeddings.word_embeddings.weight", {config.vocabulary, h}, 1);
  make("embeddings.position_embeddings.weight", {config.positions, h}, 0.5f);
  make("embeddings.token_type_embeddings.weight", {config.types, h}, 0.5f);
  make("embeddings.LayerNorm.weight", {h}, 0.1f, 1);
  make("embeddings.LayerNorm.bias", {h}, 0.1f);
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    const std::string at = fmt::format("encoder.layer.{}.", layer);
    for (const char* name : {"attention.self.query", "attention.self.key", "attention.self.value",
                             "attention.output.dense"}) {
      make(at + name + ".weight", {h, h}, 0.25f);
      make(at + name + ".bias", {h}, 0.1f);
    }
    make(at + "intermediate.dense.weight", {m, h}, 0.25f);
    make(at + "intermediate.dense.bias", {m}, 0.1f);
    make(at + "output.dense.weight", {h, m}, 0.25f);
    make(at + "output.dense.bias", {h}, 0.1f);
    for (const char* name : {"attention.output.LayerNorm", "output.LayerNorm"}) {
      make(at + name + ".weight", {h}, 0.1f, 1);
      make(at + name + ".bias", {h}, 0.1f);
    }
  }
  write_checkpoint(directory_.path() / "model.safetensors", tensors_, dtype, tensor_prefix);
  write_config();
  write_letter_tokenizer(directory_.path() / "tokenizer.json", config_.vocabulary);
}

void TinyModel::write_config() const {
  std::ofstream(directory_.path() / "config.json")
      << json::Writer()
             .begin_object()
             .member("model_type", "bert")
             .member("hidden_act", "gelu")
             .member("vocab_size", config_.vocabulary)
             .member("max_position_embeddings", config_.positions)
             .member("type_vocab_size", config_.types)
             .member("num_hidden_layers", config_.layers)
             .member("hidden_size", config_.hidden)
             .member("num_attention_heads", config_.heads)
             .member("intermediate_size", config_.intermediate)
             .member("layer_norm_eps", config_.norm_eps)
             .end_object()
             .take();
}

std::vector<double> TinyModel::last_hidden_state(const std::vector<int32_t>& ids) const {
  const int32_t h = config_.hidden;
  const auto tokens = static_cast<int32_t>(ids.size());
  const auto norm = [&](const std::string& name, const Vector& x) {
    return kernels::ref::layer_norm(tokens, h, at(name + ".weight").data(),
                                    at(name + ".bias").data(), config_.norm_eps, x);
  };
  const auto dense = [&](const std::string& name, const Vector& in, int64_t width) {
    return linear(in, width, at(name + ".weight"), at(name + ".bias"));
  };
  Vector x(tokens * h);
  for (int32_t t = 0; t < tokens; ++t) {
    for (int32_t i = 0; i < h; ++i) {
      x[t * h + i] = static_cast<double>(at("embeddings.word_embeddings.weight")[ids[t] * h + i]) +
                     at("embeddings.position_embeddings.weight")[t * h + i] +
                     at("embeddings.token_type_embeddings.weight")[i];
    }
  }
  x = norm("embeddings.LayerNorm", x);
  for (int32_t layer = 0; layer < config_.layers; ++layer) {
    const std::string at_layer = fmt::format("encoder.layer.{}.", layer);
    std::vector<float> qkv(size_t{3} * tokens * h);
    int64_t part = 0;
    for (const char* name : {"query", "key", "value"}) {
      const Vector y = dense(at_layer + "attention.self." + name, x, h);
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t i = 0; i < h; ++i)
          qkv[(t * 3 + part) * h + i] = static_cast<float>(y[t * h + i]);
      }
      ++part;
    }
    const Vector mixed =
        kernels::ref::attention({tokens, config_.heads, config_.head_dim()}, qkv.data());
    x = norm(at_layer + "attention.output.LayerNorm",
             add(x, dense(at_layer + "attention.output.dense", mixed, h)));
    Vector up = dense(at_layer + "intermediate.dense", x, h);
    for (double& v : up) v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    x = norm(at_layer + "output.LayerNorm",
             add(x, dense(at_layer + "output.dense", up, config_.intermediate)));
  }
  return x;
}

}  // namespace signalbox::engine
