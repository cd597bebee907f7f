// Reads config.json into a BertConfig.

#include "engine/bert_config.h"

namespace signalbox::engine {
namespace {

// Requires that a key is `only`, its single supported value, or missing.
Result<void> require(const weights::HfObject& config, std::string_view key, std::string_view only) {
  SIGNALBOX_TRY(const std::string value, config.string(key, only));
  if (value == only) return {};
  return fail(Code::kUnsupported, "{}: \"{}\" is not supported (supported: \"{}\")",
              config.where(key), value, only);
}

Result<void> refuse(const weights::HfObject& config, std::string_view key) {
  SIGNALBOX_TRY(const bool value, config.boolean(key, false));
  if (!value) return {};
  return fail(Code::kUnsupported, "{}: true is not supported (encoders only)", config.where(key));
}

}  // namespace

Result<BertConfig> read_bert_config(const weights::HfConfig& file) {
  const weights::HfObject config = file.root();
  SIGNALBOX_TRY_VOID(require(config, "hidden_act", "gelu"));
  SIGNALBOX_TRY_VOID(require(config, "position_embedding_type", "absolute"));
  SIGNALBOX_TRY_VOID(refuse(config, "is_decoder"));
  SIGNALBOX_TRY_VOID(refuse(config, "add_cross_attention"));
  SIGNALBOX_TRY(const std::string type, config.string("model_type", "bert"));
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
  if (type != "bert") {  // RoBERTa's positions begin after the padding's
    SIGNALBOX_TRY(const int32_t pad, config.integer("pad_token_id", 0, out.positions - 2, 1));
    out.first_position = pad + 1;
  }
  if (out.hidden % out.heads != 0) {
    return fail(Code::kCorrupt, "{}: hidden_size {} is not a multiple of num_attention_heads {}",
                file.name(), out.hidden, out.heads);
  }
  return out;
}

}  // namespace signalbox::engine
