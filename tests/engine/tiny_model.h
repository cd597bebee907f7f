#pragma once
// A BERT of a few kilobytes with weights from a fixed generator, written as a model directory, and
// the same network evaluated in double precision: the oracle of the engine's tests.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/bert_config.h"

namespace signalbox::engine {

class TinyModel {
 public:
  /// `dtype` is "F32", "F16" or "BF16"; values are exactly representable in it.
  TinyModel(BertConfig config, std::string dtype, std::string tensor_prefix = "");
  ~TinyModel();
  TinyModel(const TinyModel&) = delete;
  TinyModel& operator=(const TinyModel&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  const BertConfig& config() const { return config_; }

  /// Last hidden states (tokens, hidden) in double precision.
  std::vector<double> last_hidden_state(const std::vector<int32_t>& ids) const;

 private:
  void write_weights() const;
  void write_config() const;
  void write_tokenizer() const;
  const std::vector<float>& at(const std::string& name) const { return tensors_.at(name).values; }

  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };

  BertConfig config_;
  std::string dtype_;
  std::string prefix_;
  std::filesystem::path directory_;
  std::map<std::string, Tensor> tensors_;  // by name without the prefix
};

/// A small configuration whose sizes are no multiples of a vector's width.
BertConfig tiny_config();

}  // namespace signalbox::engine
