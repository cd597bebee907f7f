#pragma once
// Rotary positions: the frequencies of a configuration, including the scalings for longer texts,
// and tables of their cosines and sines.
//
// Su et al., "RoFormer", 2021; position interpolation ("linear"): Chen et al., 2023; dynamic NTK
// scaling and YaRN: Peng et al., "YaRN: Efficient Context Window Extension of Large Language
// Models", 2023. Names and defaults are those of Hugging Face's configurations. Angles are rounded
// to single precision as in Hugging Face's code, because checkpoints were trained that way.

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/batch.h"
#include "weights/hf_config.h"

namespace signalbox::engine {

struct RopeConfig {
  enum class Scaling : uint8_t { kNone, kLinear, kDynamic, kYarn };

  double theta = 10000;
  Scaling scaling = Scaling::kNone;
  double factor = 1;            // maximum text length relative to the original
  int32_t positions = 0;        // maximum number of tokens
  int32_t original = 0;         // yarn: token limit in training, before stretching
  double attention_factor = 1;  // yarn: factor for cosines and sines
  double beta_fast = 32;        // yarn: dimensions with more rotations are unchanged
  double beta_slow = 1;         // yarn: dimensions with fewer rotations are interpolated
  bool truncate = true;         // yarn: round the ends of the ramp to whole dimensions
};

/// kUnsupported if the object's partial_rotary_factor leaves a part of each head unrotated.
Result<void> require_whole_heads(const weights::HfObject& object);

/// Reads `rope` (an entry of rope_parameters, or rope_scaling) with a default theta. Errors:
/// kUnsupported for another rope_type; kCorrupt for values out of range.
Result<RopeConfig> read_rope(const weights::HfObject& rope, double theta, int32_t positions);

/// Cosines and sines of the first positions. The caller of Rope::rotations owns it; it is filled on
/// demand.
struct Rotations {
  Buffer<float> table;     // (capacity, 2, head_dim / 2): cosines, then sines
  int32_t filled = 0;      // number of valid positions
  int32_t length_of = -1;  // sequence length for which the frequencies were computed
};

/// The rotations of all sequences of a batch. Sequences with equal frequencies share a table.
struct RopeTables {
  std::vector<Rotations> tables;
  std::vector<const float*> of;  // (sequences), each (length, 2, head_dim / 2)
};

/// Immutable, thread-safe.
class Rope {
 public:
  Rope(const RopeConfig& config, int32_t head_dim) : config_(config), head_dim_(head_dim) {}

  /// Returns at least `length` positions for a sequence of that length, (length, 2, head_dim / 2).
  /// Valid until the next call with the same cache.
  const float* rotations(int32_t length, Rotations& cache) const;

  /// Sets tables.of for the sequences of a batch.
  void prepare(const Batch& batch, RopeTables& tables) const;

  /// Returns the radians per position for each pair of dimensions, (head_dim / 2), in a sequence of
  /// that length.
  std::vector<float> frequencies(int32_t length) const;

 private:
  bool is_stretched(int32_t length) const;
  void yarn(std::vector<double>& frequencies) const;

  RopeConfig config_;
  int32_t head_dim_;
};

}  // namespace signalbox::engine
