// Maps the tensor names of a Hugging Face ModernBertModel to fields.

#include "engine/modern_bert_weights.h"

#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

constexpr const char* kTokenTable = "embeddings.tok_embeddings.weight";

ModernBertLayerWeights read_layer(TensorReader& reader, const ModernBertConfig& config,
                                  int32_t layer) {
  const int32_t h = config.hidden;
  const int32_t m = config.intermediate;
  const std::string at = fmt::format("layers.{}.", layer);
  ModernBertLayerWeights w;
  if (layer > 0) w.attention_norm = reader.norm(at + "attn_norm", h, config.norm_bias);
  w.qkv = reader.linear(at + "attn.Wqkv", h, 3 * h, config.attention_bias);
  w.attention_out = reader.linear(at + "attn.Wo", h, h, config.attention_bias);
  w.mlp_norm = reader.norm(at + "mlp_norm", h, config.norm_bias);
  w.up = reader.linear(at + "mlp.Wi", h, 2 * m, config.mlp_bias, true);
  w.down = reader.linear(at + "mlp.Wo", m, h, config.mlp_bias);
  return w;
}

}  // namespace

Result<ModernBertWeights> load_modern_bert_weights(const weights::SafeTensors& file,
                                                   const ModernBertConfig& config,
                                                   const TrunkOptions& options) {
  TensorReader reader = read_weights(file, options, prefix_of(file, {"model.", ""}, kTokenTable));
  ModernBertWeights out;
  out.embeddings.width = config.hidden;
  out.embeddings.tokens = reader.table(kTokenTable, {config.vocabulary, config.hidden});
  out.embeddings.norm = reader.norm("embeddings.norm", config.hidden, config.norm_bias);
  for (int32_t layer = 0; layer < config.layers() && reader.status(); ++layer) {
    reader.set_format(options.format_of(layer));
    out.layers.push_back(read_layer(reader, config, layer));
  }
  out.final_norm = reader.norm("final_norm", config.hidden, config.norm_bias);
  SIGNALBOX_TRY(out.memory, finish_weights(reader, options));
  return out;
}

}  // namespace signalbox::engine
