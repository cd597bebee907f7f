// Names of a Hugging Face ModernBertModel to fields.

#include "engine/modern_bert_weights.h"

#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

constexpr const char* kTokenTable = "embeddings.tok_embeddings.weight";

// Floats of the four packed products of a layer.
size_t packed_size(const ModernBertConfig& config, const kernels::Table& kernels) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  return Linear::packed_size(kernels, h, 3 * h) + Linear::packed_size(kernels, h, h) +
         Linear::packed_size(kernels, h, 2 * m) + Linear::packed_size(kernels, m, h);
}

ModernBertLayerWeights read_layer(TensorReader& reader, const ModernBertConfig& config,
                                  const kernels::Table& kernels, int32_t layer) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  const std::string at = fmt::format("layers.{}.", layer);
  ModernBertLayerWeights w;
  if (!reader.expect(at + "attn.Wqkv.weight", {3 * h, h}) ||
      !reader.expect(at + "attn.Wo.weight", {h, h}) ||
      !reader.expect(at + "mlp.Wi.weight", {2 * m, h}) ||
      !reader.expect(at + "mlp.Wo.weight", {h, m})) {
    return w;
  }
  w.packed = Buffer<float>(packed_size(config, kernels));
  std::span<float> room = w.packed.span();
  if (layer > 0) w.attention_norm = reader.norm(at + "attn_norm", h, config.norm_bias);
  w.qkv = reader.linear(at + "attn.Wqkv", h, 3 * h, config.attention_bias, room);
  w.attention_out = reader.linear(at + "attn.Wo", h, h, config.attention_bias, room);
  w.mlp_norm = reader.norm(at + "mlp_norm", h, config.norm_bias);
  w.up = reader.linear(at + "mlp.Wi", h, 2 * m, config.mlp_bias, room);
  w.down = reader.linear(at + "mlp.Wo", m, h, config.mlp_bias, room);
  return w;
}

}  // namespace

Result<ModernBertWeights> load_modern_bert_weights(const weights::SafeTensors& file,
                                                   const ModernBertConfig& config,
                                                   const kernels::Table& kernels) {
  TensorReader reader(file, kernels, prefix_of(file, {"model.", ""}, kTokenTable));
  ModernBertWeights out;
  out.tokens = reader.table(kTokenTable, {config.vocabulary, config.hidden});
  out.embedding_norm = reader.norm("embeddings.norm", config.hidden, config.norm_bias);
  for (int32_t layer = 0; layer < config.layers() && reader.status(); ++layer) {
    out.layers.push_back(read_layer(reader, config, kernels, layer));
  }
  out.final_norm = reader.norm("final_norm", config.hidden, config.norm_bias);
  if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
  return out;
}

}  // namespace signalbox::engine
