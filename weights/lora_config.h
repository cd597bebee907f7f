#pragma once
// What a PEFT adapter_config.json says of each layer that has a low-rank part.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "weights/hf_config.h"

namespace signalbox::weights {

/// Immutable. Paths are those of layers in the model: "bert.encoder.layer.0.attention.self.query".
class LoraConfig {
 public:
  /// Errors name the file, the key and the value: kUnsupported for another kind of adapter than
  /// LORA, for what changes the mathematics and is not built (DoRA), and for patterns that are more
  /// than names; kCorrupt for values out of range.
  static Result<LoraConfig> read(const HfConfig& file);

  const std::string& task() const { return task_; }  // "SEQ_CLS", "TOKEN_CLS", or any, or ""
  int32_t rank_of(std::string_view path) const;
  /// lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora.
  float scale_of(std::string_view path) const;

  /// kCorrupt when the file says that the layer of that path has no adapter.
  Result<void> check(std::string_view path) const;

 private:
  /// Values by the end of a layer's path; the first that fits holds.
  template <class T>
  using Patterns = std::vector<std::pair<std::string, T>>;

  Result<void> read_patterns(const HfObject& config);
  Result<void> read_layers(const HfObject& config);

  std::string name_;  // of the file
  std::string task_;
  int32_t rank_ = 0;
  double alpha_ = 0;
  bool stabilised_ = false;
  Patterns<int32_t> ranks_;
  Patterns<double> alphas_;
  std::vector<std::string> targets_;  // ends of paths; empty: any
  std::vector<int32_t> numbers_;      // of layers; empty: any
};

}  // namespace signalbox::weights
