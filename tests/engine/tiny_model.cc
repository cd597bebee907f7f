// Writes the directory and walks the network in doubles.

#include "tests/engine/tiny_model.h"

#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "base/json_writer.h"
#include "kernels/ref/ref.h"

namespace signalbox::engine {
namespace {

using kernels::ref::Vector;

// Values with seven significant bits and a small exponent range: exact in half precision and in
// bfloat16.
float coarse(float x) {
  return std::round(x * 64.0f) / 64.0f;
}

// For values that half precision has as normal numbers or zero.
uint16_t half_bits(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const auto half =
      static_cast<uint16_t>(x == 0 ? sign : sign | (((bits & 0x7FFFFFFFu) >> 13) - (112u << 10)));
  SIGNALBOX_CHECK(kernels::ref::half_value(half) == x);
  return half;
}

std::string encode_value(float x, const std::string& dtype) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (dtype == "F32") return {reinterpret_cast<const char*>(&bits), 4};
  const uint16_t narrow = dtype == "BF16" ? static_cast<uint16_t>(bits >> 16) : half_bits(x);
  return {reinterpret_cast<const char*>(&narrow), 2};
}

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

BertConfig tiny_config() {
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

TinyModel::TinyModel(BertConfig config, std::string dtype, std::string tensor_prefix)
    : config_(config), dtype_(std::move(dtype)), prefix_(std::move(tensor_prefix)) {
  static std::atomic<int> made = 0;
  directory_ = std::filesystem::temp_directory_path() /
               fmt::format("signalbox-tiny-{}-{}", ::getpid(), made++);
  std::filesystem::create_directories(directory_);

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
  write_weights();
  write_config();
  write_tokenizer();
}

TinyModel::~TinyModel() {
  std::filesystem::remove_all(directory_);
}

void TinyModel::write_weights() const {
  json::Writer header;
  std::string data;
  header.begin_object();
  for (const auto& [name, tensor] : tensors_) {
    const auto begin = static_cast<int64_t>(data.size());
    for (const float x : tensor.values) data += encode_value(x, dtype_);
    header.key(prefix_ + name).begin_object().member("dtype", dtype_).key("shape").begin_array();
    for (const int64_t extent : tensor.shape) header.integer(extent);
    header.end_array().key("data_offsets").begin_array().integer(begin);
    header.integer(static_cast<int64_t>(data.size())).end_array().end_object();
  }
  const std::string text = header.end_object().take();
  const uint64_t length = text.size();
  std::ofstream file(directory_ / "model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length) << text << data;
}

void TinyModel::write_config() const {
  std::ofstream(directory_ / "config.json")
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

// A WordPiece vocabulary of the special tokens, the letters, and their continuations.
void TinyModel::write_tokenizer() const {
  json::Writer out;
  out.begin_object().member("version", "1.0").key("truncation").null().key("padding").null();
  out.key("added_tokens").begin_array();
  int32_t id = 0;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) {
    out.begin_object().member("id", id++).member("content", token).member("special", true);
    out.member("single_word", false).member("lstrip", false).member("rstrip", false);
    out.member("normalized", false).end_object();
  }
  out.end_array();
  out.key("normalizer")
      .raw(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
           R"("strip_accents":null,"lowercase":true})");
  out.key("pre_tokenizer").raw(R"({"type":"BertPreTokenizer"})");
  out.key("post_processor")
      .raw(R"({"type":"TemplateProcessing","single":[)"
           R"({"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
           R"({"SpecialToken":{"id":"[SEP]","type_id":0}}],"pair":[)"
           R"({"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},)"
           R"({"SpecialToken":{"id":"[SEP]","type_id":0}},{"Sequence":{"id":"B","type_id":1}},)"
           R"({"SpecialToken":{"id":"[SEP]","type_id":1}}],"special_tokens":{)"
           R"("[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},)"
           R"("[SEP]":{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}})");
  out.key("decoder").null();
  out.key("model").begin_object().member("type", "WordPiece").member("unk_token", "[UNK]");
  out.member("continuing_subword_prefix", "##").member("max_input_chars_per_word", 100);
  out.key("vocab").begin_object();
  id = 0;
  for (const char* token : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) out.member(token, id++);
  for (char letter = 'a'; letter <= 'z'; ++letter) out.member(std::string(1, letter), id++);
  for (char letter = 'a'; id < config_.vocabulary; ++letter)
    out.member("##" + std::string(1, letter), id++);
  out.end_object().end_object().end_object();
  std::ofstream(directory_ / "tokenizer.json") << out.take();
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
