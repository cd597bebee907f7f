// Reads the tensors that the config names.

#include "engine/bert_weights.h"

#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

Embeddings read_embeddings(TensorReader& reader, const BertConfig& config) {
  const BertNames& names = config.names;
  const int64_t width = config.embedding;
  Embeddings out;
  out.tokens = reader.table(names.tokens, {config.vocabulary, width});
  if (config.positions > 0) out.positions = reader.read(names.positions, {config.positions, width});
  if (config.types > 0) out.types = reader.read(names.types, {config.types, width});
  out.norm = reader.norm(names.embedding_norm, config.embedding, true);
  if (!names.projection.empty()) {
    out.projection = reader.linear(names.projection, config.embedding, config.hidden, true);
  }
  out.width = config.embedding;
  out.first_position = config.first_position;
  out.padding = config.padding;
  return out;
}

BertLayerWeights read_layer(TensorReader& reader, const BertConfig& config, const std::string& at) {
  const BertNames& names = config.names;
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  const bool gated = config.gate.has_value();
  const auto paths = [&](const std::vector<std::string>& parts) {
    std::vector<std::string> out;
    for (const std::string& part : parts) out.push_back(at + part);
    return out;
  };
  BertLayerWeights w;
  w.qkv = reader.linear({paths(names.qkv), at + names.packed_qkv, h, 3 * h, config.attention_bias});
  w.attention_out = reader.linear(at + names.attention_out, h, h, config.attention_bias);
  w.attention_norm = reader.norm(at + names.attention_norm, h, true);
  w.up = reader.linear(
      {paths(names.up), at + names.packed_up, h, gated ? 2 * m : m, config.up_bias, gated});
  w.down = reader.linear(at + names.down, m, h, config.down_bias);
  w.output_norm = reader.norm(at + names.output_norm, h, true);
  return w;
}

}  // namespace

Result<BertWeights> load_bert_weights(const weights::SafeTensors& file, const BertConfig& config,
                                      const TrunkOptions& options) {
  const BertNames& names = config.names;
  TensorReader reader = read_weights(file, options, prefix_of(file, names.prefixes, names.tokens));
  BertWeights out;
  out.embeddings = read_embeddings(reader, config);
  for (size_t layer = 0; layer < names.layers.size() && reader.status(); ++layer) {
    reader.set_format(options.format_of(static_cast<int32_t>(layer)));
    out.layers.push_back(read_layer(reader, config, names.layers[layer]));
  }
  Buffer<float> table;  // (buckets, heads)
  if (config.distances > 0) table = reader.read(names.distances, {config.distances, config.heads});
  SIGNALBOX_TRY(out.memory, finish_weights(reader, options));
  if (config.distances > 0) {
    out.distances.emplace(config.tokens_max, config.heads, BucketsT5{}, table);
    out.memory.bytes += out.distances->bytes();
  }
  return out;
}

}  // namespace signalbox::engine
