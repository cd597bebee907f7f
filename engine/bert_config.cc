// Reads what the families share, and the two oldest of them.

#include "engine/bert_config.h"

#include "engine/read_options.h"

namespace signalbox::engine {

void BertConfig::number_layers(int32_t count, std::string_view path) {
  for (int32_t layer = 0; layer < count; ++layer) {
    order.push_back(layer);
    names.layers.push_back(fmt::format("{}{}.", path, layer));
  }
}

Result<BertConfig> read_bert_options(const weights::HfObject& config,
                                     const BertDefaults& defaults) {
  SIGNALBOX_TRY_VOID(require(config, "position_embedding_type", "absolute"));
  SIGNALBOX_TRY_VOID(refuse(config, "is_decoder"));
  SIGNALBOX_TRY_VOID(refuse(config, "add_cross_attention"));
  BertConfig out;
  SIGNALBOX_TRY(out.activation, read_activation(config, "hidden_act", defaults.activation));
  SIGNALBOX_TRY(out.vocabulary, config.integer("vocab_size", 1, 1 << 22, defaults.vocabulary));
  SIGNALBOX_TRY(out.positions, config.integer("max_position_embeddings", 2, 1 << 17, 512));
  if (defaults.types > 0) {
    SIGNALBOX_TRY(out.types, config.integer("type_vocab_size", 1, 64, defaults.types));
  }
  SIGNALBOX_TRY(out.hidden, config.integer("hidden_size", 1, 1 << 14, defaults.hidden));
  SIGNALBOX_TRY(out.heads, config.integer("num_attention_heads", 1, 256, defaults.heads));
  SIGNALBOX_TRY(out.intermediate,
                config.integer("intermediate_size", 1, 1 << 16, defaults.intermediate));
  SIGNALBOX_TRY(out.norm_eps, read_eps(config, "layer_norm_eps", defaults.norm_eps));
  SIGNALBOX_TRY_VOID(
      check_heads(config, "hidden_size", out.hidden, "num_attention_heads", out.heads));
  out.embedding = out.hidden;
  out.tokens_max = out.positions;
  return out;
}

Result<void> read_roberta_positions(const weights::HfObject& config, BertConfig& bert) {
  SIGNALBOX_TRY(bert.padding, config.integer("pad_token_id", 0, bert.positions - 2, 1));
  bert.first_position = bert.padding + 1;
  bert.tokens_max = bert.positions - bert.first_position;
  return {};
}

Result<BertConfig> read_bert(const weights::HfObject& config) {
  SIGNALBOX_TRY(BertConfig out, read_bert_options(config, {}));
  SIGNALBOX_TRY(const int32_t layers, config.integer("num_hidden_layers", 1, 256, 12));
  out.number_layers(layers, "encoder.layer.");
  out.names.prefixes = {"bert.", ""};
  return out;
}

namespace {

Result<BertConfig> read_roberta_like(const weights::HfObject& config, int32_t vocabulary) {
  SIGNALBOX_TRY(BertConfig out, read_bert_options(config, {.vocabulary = vocabulary}));
  SIGNALBOX_TRY_VOID(read_roberta_positions(config, out));
  SIGNALBOX_TRY(const int32_t layers, config.integer("num_hidden_layers", 1, 256, 12));
  out.number_layers(layers, "encoder.layer.");
  out.names.prefixes = {"roberta.", ""};
  return out;
}

}  // namespace

Result<BertConfig> read_roberta(const weights::HfObject& config) {
  return read_roberta_like(config, 50265);
}

Result<BertConfig> read_xlm_roberta(const weights::HfObject& config) {
  return read_roberta_like(config, 30522);
}

}  // namespace signalbox::engine
