#pragma once
// A BERT of a few kilobytes with weights from a fixed generator, written as a model directory. The
// same network in double precision is the reference for the engine's tests.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/bert_config.h"
#include "tests/engine/checkpoint.h"

namespace signalbox::engine {

class TinyModel {
 public:
  /// `dtype` is "F32", "F16" or "BF16"; values are exactly representable in it.
  TinyModel(BertConfig config, const std::string& dtype, const std::string& tensor_prefix = "");

  const std::filesystem::path& directory() const { return directory_.path(); }
  const BertConfig& config() const { return config_; }

  /// Returns the last hidden states (tokens, hidden) in double precision.
  std::vector<double> last_hidden_state(const std::vector<int32_t>& ids) const;

 private:
  void write_config() const;
  const std::vector<float>& at(const std::string& name) const { return tensors_.at(name).values; }

  BertConfig config_;
  TemporaryDirectory directory_;
  Checkpoint tensors_;  // by name without the prefix
};

/// A small configuration whose sizes are not multiples of a vector width.
BertConfig tiny_config();

}  // namespace signalbox::engine
