// Maps the tensor names of a Hugging Face BertModel to fields.

#include "engine/bert_weights.h"

#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

constexpr const char* kWordTable = "embeddings.word_embeddings.weight";

BertLayerWeights read_layer(TensorReader& reader, const BertConfig& config, int32_t layer) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  const std::string at = fmt::format("encoder.layer.{}.", layer);
  const std::string self = at + "attention.self.";
  BertLayerWeights w;
  w.qkv = reader.linear(
      {{self + "query", self + "key", self + "value"}, self + "query_key_value", h, 3 * h, true});
  w.attention_out = reader.linear(at + "attention.output.dense", h, h, true);
  w.attention_norm = reader.norm(at + "attention.output.LayerNorm", h, true);
  w.up = reader.linear(at + "intermediate.dense", h, m, true);
  w.down = reader.linear(at + "output.dense", m, h, true);
  w.output_norm = reader.norm(at + "output.LayerNorm", h, true);
  return w;
}

}  // namespace

Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const TrunkOptions& options) {
  const int64_t h = config.hidden;
  TensorReader reader(file, options.kernels, prefix_of(file, {"bert.", "roberta.", ""}, kWordTable),
                      options.format, options.merge);
  if (options.packed != nullptr) reader.record();
  BertWeights out;
  out.tokens = reader.table(kWordTable, {config.vocabulary, h});
  out.positions = reader.read("embeddings.position_embeddings.weight", {config.positions, h});
  out.types = reader.read("embeddings.token_type_embeddings.weight", {config.types, h});
  out.norm = reader.norm("embeddings.LayerNorm", config.hidden, true);
  for (int32_t layer = 0; layer < config.layers && reader.status(); ++layer) {
    reader.set_format(options.format_of(layer));
    out.layers.push_back(read_layer(reader, config, layer));
  }
  if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
  out.arena = reader.take_arena();
  out.bytes = reader.held_bytes();
  if (options.packed != nullptr) *options.packed = reader.take_packed();
  if (options.linears != nullptr) *options.linears = reader.take_linears();
  return out;
}

}  // namespace signalbox::engine
