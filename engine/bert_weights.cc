// Names of a Hugging Face BertModel to fields.

#include "engine/bert_weights.h"

#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

constexpr const char* kTokenTable = "embeddings.word_embeddings.weight";

// Floats of the four packed products of a layer.
size_t packed_size(const BertConfig& config, const kernels::Table& kernels) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  return Linear::packed_size(kernels, h, 3 * h) + Linear::packed_size(kernels, h, h) +
         Linear::packed_size(kernels, h, m) + Linear::packed_size(kernels, m, h);
}

// Query, key and value of one attention, stacked: hidden to 3 hidden.
Linear read_qkv(TensorReader& reader, const std::string& self, int32_t hidden,
                std::span<float>& room) {
  const size_t h = hidden;
  Buffer<float> w(3 * h * h), bias(3 * h);
  size_t part = 0;
  for (const char* name : {"query", "key", "value"}) {
    reader.read(self + name + ".weight", {hidden, hidden}, w.span().subspan(part * h * h, h * h));
    reader.read(self + name + ".bias", {hidden}, bias.span().subspan(part * h, h));
    ++part;
  }
  return reader.pack(hidden, 3 * hidden, w, std::move(bias), room);
}

BertLayerWeights read_layer(TensorReader& reader, const BertConfig& config,
                            const kernels::Table& kernels, int32_t layer) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  const std::string at = fmt::format("encoder.layer.{}.", layer);
  BertLayerWeights w;
  for (const char* name : {"attention.self.query", "attention.self.key", "attention.self.value",
                           "attention.output.dense"}) {
    if (!reader.expect(at + name + ".weight", {h, h})) return w;
  }
  if (!reader.expect(at + "intermediate.dense.weight", {m, h})) return w;
  w.packed = Buffer<float>(packed_size(config, kernels));
  std::span<float> room = w.packed.span();
  w.qkv = read_qkv(reader, at + "attention.self.", h, room);
  w.attention_out = reader.linear(at + "attention.output.dense", h, h, true, room);
  w.attention_norm = reader.norm(at + "attention.output.LayerNorm", h, true);
  w.up = reader.linear(at + "intermediate.dense", h, m, true, room);
  w.down = reader.linear(at + "output.dense", m, h, true, room);
  w.output_norm = reader.norm(at + "output.LayerNorm", h, true);
  return w;
}

}  // namespace

Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const kernels::Table& kernels) {
  const int64_t h = config.hidden;
  TensorReader reader(file, kernels, prefix_of(file, {"bert.", "roberta.", ""}, kTokenTable));
  BertWeights out;
  out.tokens = reader.table(kTokenTable, {config.vocabulary, h});
  out.positions = reader.read("embeddings.position_embeddings.weight", {config.positions, h});
  out.types = reader.read("embeddings.token_type_embeddings.weight", {config.types, h});
  out.norm = reader.norm("embeddings.LayerNorm", config.hidden, true);
  for (int32_t layer = 0; layer < config.layers && reader.status(); ++layer) {
    out.layers.push_back(read_layer(reader, config, kernels, layer));
  }
  if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
  return out;
}

}  // namespace signalbox::engine
