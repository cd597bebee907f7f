#pragma once
// The settings in a T5 config.json that affect its encoder.

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "engine/activation.h"
#include "engine/distances.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

/// The encoder of Raffel et al., "Exploring the Limits of Transfer Learning with a Unified
/// Text-to-Text Transformer", 2019, with Hugging Face's names.
struct T5Config {
  int32_t vocabulary = 0;
  int32_t tokens_max = 0;
  int32_t hidden = 0;
  int32_t heads = 0;
  int32_t head_dim = 0;  // need not be hidden / heads
  int32_t layers = 0;
  int32_t intermediate = 0;
  std::optional<kernels::Finish> gate;  // for a feed-forward layer with a gate
  Activation activation = Activation::kRelu;
  BucketsT5 buckets;
  float norm_eps = 0;

  /// Width of the queries of all heads.
  int32_t mixed() const { return heads * head_dim; }
};

/// Missing keys have the defaults of Hugging Face's configuration. Errors: kUnsupported for another
/// option; kCorrupt for values out of range.
Result<T5Config> read_t5_config(const weights::HfConfig& file);

}  // namespace signalbox::engine
