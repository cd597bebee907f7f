// Maps the tensor names of Hugging Face's T5EncoderModel to fields.

#include "engine/t5_weights.h"

#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

constexpr const char* kFirstNorm = "encoder.block.0.layer.0.layer_norm.weight";

T5LayerWeights read_layer(TensorReader& reader, const T5Config& config, int32_t layer) {
  const int32_t h = config.hidden, m = config.intermediate, mixed = config.mixed();
  const std::string attention = fmt::format("encoder.block.{}.layer.0.", layer);
  const std::string mlp = fmt::format("encoder.block.{}.layer.1.", layer);
  const std::string self = attention + "SelfAttention.", dense = mlp + "DenseReluDense.";
  T5LayerWeights w;
  w.attention_norm = reader.rms_norm(attention + "layer_norm", h);
  w.qkv = reader.linear({{self + "q", self + "k", self + "v"}, self + "qkv", h, 3 * mixed, false});
  w.attention_out = reader.linear(self + "o", mixed, h, false);
  w.mlp_norm = reader.rms_norm(mlp + "layer_norm", h);
  w.up = config.gate
             ? reader.linear(
                   {{dense + "wi_0", dense + "wi_1"}, dense + "wi_0_wi_1", h, 2 * m, false, true})
             : reader.linear(dense + "wi", h, m, false);
  w.down = reader.linear(dense + "wo", m, h, false);
  return w;
}

}  // namespace

Result<T5Weights> load_t5_weights(const weights::SafeTensors& file, const T5Config& config,
                                  int32_t reach, const TrunkOptions& options) {
  TensorReader reader =
      read_weights(file, options, prefix_of(file, {"transformer.", ""}, kFirstNorm));
  T5Weights out;
  out.embeddings.width = config.hidden;
  // Usually stored once for the encoder and the decoder.
  const bool shared = reader.rows("shared.weight") > 0;
  out.embeddings.tokens = reader.table(shared ? "shared.weight" : "encoder.embed_tokens.weight",
                                       {config.vocabulary, config.hidden});
  for (int32_t layer = 0; layer < config.layers && reader.status(); ++layer) {
    reader.set_format(options.format_of(layer));
    out.layers.push_back(read_layer(reader, config, layer));
  }
  out.final_norm = reader.rms_norm("encoder.final_layer_norm", config.hidden);
  const Buffer<float> table =
      reader.read("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                  {config.buckets.count, config.heads});
  SIGNALBOX_TRY(out.memory, finish_weights(reader, options));
  out.distances = DistanceBias(reach, config.heads, config.buckets, table);
  out.memory.bytes += out.distances.bytes();
  return out;
}

}  // namespace signalbox::engine
