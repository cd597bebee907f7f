#pragma once
// A BERT of a few kilobytes with weights from a fixed generator, written as a model directory. The
// same network in double precision is the reference for the engine's tests.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/engine/checkpoint.h"

namespace signalbox::engine {

struct TinyConfig {
  int32_t vocabulary;
  int32_t positions;
  int32_t first_position;
  int32_t types;
  int32_t layers;
  int32_t hidden;
  int32_t heads;
  int32_t intermediate;
  float norm_eps;

  int32_t head_dim() const { return hidden / heads; }
};

class TinyModel {
 public:
  /// `dtype` is "F32", "F16" or "BF16"; values are exactly representable in it.
  TinyModel(TinyConfig config, const std::string& dtype, const std::string& tensor_prefix = "");

  const std::filesystem::path& directory() const { return directory_.path(); }
  const TinyConfig& config() const { return config_; }

  /// Returns the last hidden states (tokens, hidden) in double precision.
  std::vector<double> last_hidden_state(const std::vector<int32_t>& ids) const;

 private:
  void write_config() const;
  const std::vector<float>& at(const std::string& name) const { return tensors_.at(name).values; }

  TinyConfig config_;
  TemporaryDirectory directory_;
  Checkpoint tensors_;  // by name without the prefix
};

/// A small configuration whose sizes are not multiples of a vector width.
TinyConfig tiny_config();

}  // namespace signalbox::engine
