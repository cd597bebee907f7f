#pragma once
// The trunk of language models that are used as encoders: root mean square norms before each step,
// grouped queries with a norm of their own, rotary positions and a gated feed-forward layer. Each
// architecture (qwen3, gemma3) is a reader of its config.json into a DecoderConfig.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "engine/rope.h"
#include "engine/trunk.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct DecoderConfig {
  int32_t vocabulary = 0;
  int32_t tokens_max = 0;
  int32_t hidden = 0;
  int32_t heads = 0;
  int32_t kv_heads = 0;      // heads is a multiple
  int32_t head_dim = 0;      // even
  int32_t intermediate = 0;  // width of the gated feed-forward layer
  float norm_eps = 0;
  bool attention_bias = false;
  bool causal = true;
  std::vector<int32_t>
      windows;             // (layers): see kernels::AttentionShape; kNoWindow for a full layer
  RopeConfig full_rope;    // of full layers
  RopeConfig window_rope;  // of layers with a window

  kernels::Finish gate = kernels::Finish::kSwiglu;
  float embedding_scale = 1;
  float norm_offset = 0;  // added to the weights of every norm
  float query_scale = 1;  // factor of the scores, besides 1 / sqrt(head_dim)
  /// Each branch (attention, feed-forward) ends with a norm of its own before it is added.
  bool branch_norms = false;

  int32_t layers() const { return static_cast<int32_t>(windows.size()); }
};

/// Defaults of an architecture for keys that its config.json may lack.
struct DecoderDefaults {
  int32_t head_dim;
  int32_t positions;
};

/// Reads the keys that all decoders share; windows and ropes stay empty. Errors: kCorrupt for
/// values out of range or contradictory.
Result<DecoderConfig> read_decoder_config(const weights::HfConfig& file,
                                          const DecoderDefaults& defaults);

/// Reads the window of each layer from layer_types or, without it, from is_sliding(layer). A
/// sliding layer takes `window`. Errors: kUnsupported for another type of layer; kCorrupt for a
/// wrong number of layers, or a sliding layer without a window.
Result<std::vector<int32_t>> read_windows(const weights::HfObject& config,
                                          std::optional<int32_t> window,
                                          const std::function<bool(int32_t)>& is_sliding);

/// Reads the rope of one kind of layer: rope_parameters (its member `attention` if it has one for
/// each kind), or rope_scaling, or just `theta`.
Result<RopeConfig> read_decoder_rope(const weights::HfObject& config, std::string_view attention,
                                     double theta, int32_t positions);

/// Opens the trunk; see open_trunk().
Result<std::unique_ptr<const Trunk>> open_decoder(const DecoderConfig& config,
                                                  const weights::SafeTensors& file,
                                                  const TrunkOptions& options);

}  // namespace signalbox::engine
