#pragma once
// The settings of the encoders that are built like BERT: in each layer, attention and then a
// feed-forward network, each added to its input and normalised after the sum. The families differ
// in a few steps and in the names of their options and tensors, so each has a reader here and they
// share the forward pass in bert.cc.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/activation.h"
#include "engine/rope.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// Where an encoder's tensors are in its file. The names of layers and norms are without ".weight"
/// and ".bias". The defaults are those of BERT.
struct BertNames {
  std::vector<const char*> prefixes;  // of all other names, tried in order; "" is the last
  std::string tokens = "embeddings.word_embeddings.weight";
  std::string positions = "embeddings.position_embeddings.weight";
  std::string types = "embeddings.token_type_embeddings.weight";
  std::string embedding_norm = "embeddings.LayerNorm";
  std::string projection = "";  // of the embeddings to the hidden width
  std::string distances = "";   // table of biases by distance

  std::vector<std::string> layers;  // the prefix of each distinct layer, for the names below
  std::vector<std::string> qkv = {"attention.self.query", "attention.self.key",
                                  "attention.self.value"};  // or one name for all
  std::string packed_qkv = "attention.self.query_key_value";
  std::string attention_out = "attention.output.dense";
  std::string attention_norm = "attention.output.LayerNorm";
  std::vector<std::string> up = {"intermediate.dense"};  // with a gate: activated part, other part
  std::string packed_up = "intermediate.dense";
  std::string down = "output.dense";
  std::string output_norm = "output.LayerNorm";
};

/// BERT: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018, with Hugging
/// Face's names.
struct BertConfig {
  int32_t vocabulary = 0;
  int32_t positions = 0;       // rows of the position table; 0: no table
  int32_t first_position = 0;  // row for a text's first token
  int32_t padding = -1;        // id that does not count as a position; -1: none
  int32_t types = 0;           // rows of the table of segment types; 0: no table
  int32_t tokens_max = 0;      // per sequence
  int32_t embedding = 0;       // width of the embedding tables
  int32_t hidden = 0;
  int32_t heads = 0;           // hidden is a multiple of it
  int32_t intermediate = 0;    // width of the feed-forward layer
  std::vector<int32_t> order;  // (layers): the weights of each layer, an index of names.layers
  Activation activation = Activation::kGelu;
  std::optional<kernels::Finish> gate;  // for a feed-forward layer with a gate
  bool attention_bias = true;           // of the products
  bool up_bias = true;
  bool down_bias = true;
  float norm_eps = 0;
  std::optional<RopeConfig> rope;
  int32_t distances = 0;  // rows of the table of biases by T5's buckets of distances; 0: no table
  BertNames names;

  int32_t layers() const { return static_cast<int32_t>(order.size()); }
  int32_t head_dim() const { return hidden / heads; }
  /// Sets `order` and names.layers to `count` layers with weights of their own. `path` is
  /// "encoder.layer." for "encoder.layer.0.".
  void number_layers(int32_t count, std::string_view path);
};

/// One reader a family, in a file of its own name. Missing keys have the defaults of Hugging Face's
/// configurations. Errors: kUnsupported for another option; kCorrupt for values out of range.
/// RoBERTa (Liu et al., 2019) and XLM-RoBERTa are BERT with another first position.
Result<BertConfig> read_bert(const weights::HfObject& config);
Result<BertConfig> read_roberta(const weights::HfObject& config);
Result<BertConfig> read_xlm_roberta(const weights::HfObject& config);
Result<BertConfig> read_distilbert(const weights::HfObject& config);
Result<BertConfig> read_electra(const weights::HfObject& config);
Result<BertConfig> read_albert(const weights::HfObject& config);
Result<BertConfig> read_mpnet(const weights::HfObject& config);
Result<BertConfig> read_nomic_bert(const weights::HfObject& config);

/// The defaults that differ among the families whose options have BERT's names.
struct BertDefaults {
  int32_t vocabulary = 30522;
  int32_t hidden = 768;
  int32_t layers = 12;
  int32_t heads = 12;
  int32_t intermediate = 3072;
  int32_t types = 2;  // 0: the family has no segment types
  double norm_eps = 1e-12;
  const char* activation = "gelu";
};

/// Reads the options that have BERT's names, except the number of layers.
Result<BertConfig> read_bert_options(const weights::HfObject& config, const BertDefaults& defaults);

/// Sets the padding and the first position to those of RoBERTa: positions begin after the
/// padding's.
Result<void> read_roberta_positions(const weights::HfObject& config, BertConfig& bert);

}  // namespace signalbox::engine
