#pragma once
// A directory with a small random GLiNER over DeBERTa, and its results in double precision. Shares
// no code with the engine.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tests/engine/checkpoint.h"

namespace signalbox::engine {

class GlinerNetwork {
 public:
  /// `options` is the text of an object whose members replace those of gliner_config.json.
  explicit GlinerNetwork(std::string_view options = "{}");

  const std::filesystem::path& directory() const { return directory_.path(); }
  const Checkpoint& tensors() const { return tensors_; }
  /// Ids of the marks, which the tokenizer does not have.
  static constexpr int32_t kLabelMark = 56, kTextMark = 57;

  /// Returns logits (words, width_max, labels) of a sequence whose labels and words are represented
  /// by those tokens; -1 is a word without tokens.
  std::vector<double> logits(const std::vector<int32_t>& ids, const std::vector<int32_t>& labels,
                             const std::vector<int32_t>& words) const;

  /// Rewrites gliner_config.json or model.safetensors.
  void write_config(std::string_view text) const;
  void write(const Checkpoint& tensors) const;

 private:
  int64_t integer(const char* key) const { return config_.root().find(key)->integer().value(); }

  json::Document config_;
  TemporaryDirectory directory_;
  Checkpoint tensors_;
};

}  // namespace signalbox::engine
