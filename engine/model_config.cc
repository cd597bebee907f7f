// config.json to BertConfig.

#include "engine/model_config.h"

namespace signalbox::engine {
namespace {

// A key whose only built value is `only`; absent means that value too.
Result<void> require(const weights::HfConfig& config, std::string_view key, std::string_view only) {
  SIGNALBOX_TRY(const std::string value, config.string(key, only));
  if (value == only) return {};
  return fail(Code::kUnsupported, "{}: {}: \"{}\" is not built (built: \"{}\")", config.name(), key,
              value, only);
}

}  // namespace

Result<BertConfig> read_bert_config(const weights::HfConfig& config) {
  SIGNALBOX_TRY_VOID(require(config, "model_type", "bert"));
  SIGNALBOX_TRY_VOID(require(config, "hidden_act", "gelu"));
  SIGNALBOX_TRY_VOID(require(config, "position_embedding_type", "absolute"));
  for (const std::string_view key : {"is_decoder", "add_cross_attention"}) {
    const auto value = config.root().find(key);
    if (value && value->is_bool() && value->boolean()) {
      return fail(Code::kUnsupported, "{}: {}: true is not built (encoders only)", config.name(),
                  key);
    }
  }
  BertConfig out;
  SIGNALBOX_TRY(out.vocabulary, config.integer("vocab_size", 1, 1 << 22));
  SIGNALBOX_TRY(out.positions, config.integer("max_position_embeddings", 2, 1 << 17));
  SIGNALBOX_TRY(out.types, config.integer("type_vocab_size", 1, 64));
  SIGNALBOX_TRY(out.layers, config.integer("num_hidden_layers", 1, 256));
  SIGNALBOX_TRY(out.hidden, config.integer("hidden_size", 1, 1 << 14));
  SIGNALBOX_TRY(out.heads, config.integer("num_attention_heads", 1, 256));
  SIGNALBOX_TRY(out.intermediate, config.integer("intermediate_size", 1, 1 << 16));
  SIGNALBOX_TRY(const double eps, config.number("layer_norm_eps", 0, 1));
  out.norm_eps = static_cast<float>(eps);
  if (out.hidden % out.heads != 0) {
    return fail(Code::kCorrupt, "{}: hidden_size {} is not a multiple of num_attention_heads {}",
                config.name(), out.hidden, out.heads);
  }
  return out;
}

}  // namespace signalbox::engine
