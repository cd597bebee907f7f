#pragma once
// Rotary positions: the frequencies of a configuration, with the scalings that stretch them to
// longer texts, and tables of their cosines and sines.
//
// Su et al., "RoFormer", 2021; position interpolation ("linear"): Chen et al., 2023; dynamic NTK
// scaling and YaRN: Peng et al., "YaRN: Efficient Context Window Extension of Large Language
// Models", 2023. Names and defaults are those of Hugging Face's configurations. Angles are rounded
// to single precision as there: checkpoints were trained on them.

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
  double factor = 1;            // how much longer texts may be
  int32_t positions = 0;        // tokens that the network takes
  int32_t original = 0;         // yarn: tokens it was trained for before stretching
  double attention_factor = 1;  // yarn: what cosines and sines are multiplied by
  double beta_fast = 32;        // yarn: rotations above which a dimension is left alone
  double beta_slow = 1;         // yarn: rotations below which it is interpolated
  bool truncate = true;         // yarn: whole dimensions at the ends of the ramp
};

/// Reads what `rope` (an entry of rope_parameters, or rope_scaling) says over a default theta.
/// Errors: kUnsupported for another rope_type, kCorrupt for values out of range.
Result<RopeConfig> read_rope(const weights::HfObject& rope, double theta, int32_t positions);

/// Cosines and sines of the first positions, kept by whoever calls Rope::rotations and filled on
/// demand.
struct Rotations {
  Buffer<float> table;     // (capacity, 2, head_dim / 2): cosines, then sines
  int32_t filled = 0;      // positions that are there
  int32_t length_of = -1;  // the length that the frequencies were made for
};

/// The rotations of every sequence of a batch; those that turn alike share one table.
struct RopeTables {
  std::vector<Rotations> tables;
  std::vector<const float*> of;  // (sequences), each (length, 2, head_dim / 2)
};

/// Immutable, thread-safe.
class Rope {
 public:
  Rope(const RopeConfig& config, int32_t head_dim) : config_(config), head_dim_(head_dim) {}

  /// At least `length` positions of a sequence of that length, (length, 2, head_dim / 2). Valid
  /// until the next call with the same cache.
  const float* rotations(int32_t length, Rotations& cache) const;

  /// Fills tables.of for the sequences of a batch.
  void prepare(const Batch& batch, RopeTables& tables) const;

  /// Radians a position for each pair of dimensions, (head_dim / 2), in a sequence of that length.
  std::vector<float> frequencies(int32_t length) const;

 private:
  bool is_stretched(int32_t length) const;
  void yarn(std::vector<double>& frequencies) const;

  RopeConfig config_;
  int32_t head_dim_;
};

}  // namespace signalbox::engine
