// Maps the tensor names of Hugging Face's decoders to fields.

#include "engine/decoder_weights.h"

#include <cmath>
#include <string>

#include "engine/tensor_reader.h"

namespace signalbox::engine {
namespace {

constexpr const char* kTokens = "embed_tokens.weight";

LinearSpec qkv_spec(const std::string& at, const DecoderConfig& config) {
  const int32_t queries = config.heads * config.head_dim, keys = config.kv_heads * config.head_dim;
  return {.parts = {at + "q_proj", at + "k_proj", at + "v_proj"},
          .name = at + "qkv_proj",
          .in = config.hidden,
          .out = queries + 2 * keys,
          .bias = config.attention_bias,
          .rows = {queries, keys, keys}};
}

DecoderLayerWeights read_layer(TensorReader& reader, const DecoderConfig& config, int32_t layer) {
  const int32_t h = config.hidden, m = config.intermediate;
  const std::string at = fmt::format("layers.{}.", layer);
  const auto norm = [&](const std::string& name, int32_t width, float factor = 1) {
    return reader.rms_norm(at + name, width, config.norm_offset, factor);
  };
  DecoderLayerWeights w;
  w.attention_norm = norm("input_layernorm", h);
  w.qkv = reader.linear(qkv_spec(at + "self_attn.", config));
  w.query_norm = norm("self_attn.q_norm", config.head_dim, config.query_scale);
  w.key_norm = norm("self_attn.k_norm", config.head_dim);
  w.attention_out = reader.linear(at + "self_attn.o_proj", config.heads * config.head_dim, h,
                                  config.attention_bias);
  if (config.branch_norms) w.attention_branch_norm = norm("post_attention_layernorm", h);
  w.mlp_norm =
      norm(config.branch_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm", h);
  w.up = reader.linear(
      {{at + "mlp.gate_proj", at + "mlp.up_proj"}, at + "mlp.gate_up_proj", h, 2 * m, false, true});
  w.down = reader.linear(at + "mlp.down_proj", m, h, false);
  if (config.branch_norms) w.mlp_branch_norm = norm("post_feedforward_layernorm", h);
  return w;
}

}  // namespace

Result<DecoderWeights> load_decoder_weights(const weights::SafeTensors& file,
                                            const DecoderConfig& config,
                                            const TrunkOptions& options) {
  TensorReader reader(file, options.kernels, prefix_of(file, {"model.", ""}, kTokens),
                      options.format, options.merge);
  if (options.packed != nullptr) reader.record();
  DecoderWeights out;
  out.tokens = reader.table(kTokens, {config.vocabulary, config.hidden});
  for (int32_t layer = 0; layer < config.layers() && reader.status(); ++layer) {
    reader.set_format(options.format_of(layer));
    out.layers.push_back(read_layer(reader, config, layer));
  }
  out.final_norm = reader.rms_norm("norm", config.hidden, config.norm_offset);
  if (!reader.status()) return tl::unexpected<Error>(reader.status().error());
  out.arena = reader.take_arena();
  out.bytes = reader.held_bytes();
  if (options.packed != nullptr) *options.packed = reader.take_packed();
  if (options.linears != nullptr) *options.linears = reader.take_linears();
  return out;
}

}  // namespace signalbox::engine
