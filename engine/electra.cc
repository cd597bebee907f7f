// ELECTRA: Clark et al., "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than
// Generators", 2020. It is BERT whose embeddings may be narrower than its layers.

#include "engine/bert_config.h"

namespace signalbox::engine {

Result<BertConfig> read_electra(const weights::HfObject& config) {
  SIGNALBOX_TRY(BertConfig out,
                read_bert_options(config, {.hidden = 256, .heads = 4, .intermediate = 1024}));
  SIGNALBOX_TRY(out.embedding, config.integer("embedding_size", 1, 1 << 14, 128));
  SIGNALBOX_TRY(const int32_t layers, config.integer("num_hidden_layers", 1, 256, 12));
  out.number_layers(layers, "encoder.layer.");
  out.names.prefixes = {"electra.", ""};
  if (out.embedding != out.hidden) out.names.projection = "embeddings_project";
  return out;
}

}  // namespace signalbox::engine
