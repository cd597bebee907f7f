#pragma once
// The settings in a PEFT adapter_config.json for each adapted layer.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "weights/hf_config.h"

namespace signalbox::weights {

/// Immutable. Paths identify layers of the model: "bert.encoder.layer.0.attention.self.query".
class LoraConfig {
 public:
  /// Errors name the file, the key and the value: kUnsupported for adapters other than LORA, for
  /// features that change the computation (DoRA), and for patterns that are not plain names;
  /// kCorrupt for values out of range.
  static Result<LoraConfig> read(const HfConfig& file);

  const std::string& task() const { return task_; }  // "SEQ_CLS", "TOKEN_CLS", another task, or ""
  int32_t rank_of(std::string_view path) const;
  /// Returns lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora.
  float scale_of(std::string_view path) const;

  /// Returns kCorrupt if the configuration excludes the layer at `path`.
  Result<void> check(std::string_view path) const;

 private:
  /// Values by path suffix. The first match applies.
  template <class T>
  using Patterns = std::vector<std::pair<std::string, T>>;

  Result<void> read_patterns(const HfObject& config);
  Result<void> read_layers(const HfObject& config);

  std::string name_;  // file name
  std::string task_;
  int32_t rank_ = 0;
  double alpha_ = 0;
  bool stabilised_ = false;
  Patterns<int32_t> ranks_;
  Patterns<double> alphas_;
  std::vector<std::string> targets_;  // path suffixes; empty: any
  std::vector<int32_t> numbers_;      // layer numbers; empty: any
};

}  // namespace signalbox::weights
