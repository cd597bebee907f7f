#pragma once
// The settings for embeddings in a sentence-transformers directory: modules.json and the files it
// names.

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace signalbox::engine {

/// The names of the file with the limit per text. Older versions of sentence-transformers named it
/// after the encoder. The first that exists counts.
inline constexpr const char* kTextLimitFiles[] = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

/// A dense layer after pooling (dense_layers.h).
struct DenseStep {
  std::filesystem::path directory;
  bool normalizes = false;  // its input is scaled to length 1
};

struct PoolingConfig {
  Pooling pooling = Pooling::kMean;
  int32_t tokens_max = 0;  // limit per text; 0: the network's own limit
  std::vector<DenseStep> dense = {};
};

/// The last component of a module's type such as "sentence_transformers.models.Pooling". The
/// classes of other packages keep their whole names, because they may do anything.
std::string_view module_kind(std::string_view type);

/// Without a modules.json, the directories 1_Pooling, 2_Dense and 3_Dense count if they exist.
/// `otherwise` is the pooling of a directory that names none. Errors: kUnsupported for an
/// unsupported module or pooling, or modules in another order; kCorrupt. Both name the file.
Result<PoolingConfig> read_pooling_config(const std::filesystem::path& directory, int32_t hidden,
                                          Pooling otherwise = Pooling::kMean);

}  // namespace signalbox::engine
