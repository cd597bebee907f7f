#pragma once
// An encoder without heads: converts token ids to hidden states. Heads read the trunk's output, so
// any number of heads needs only one pass.

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "base/error.h"
#include "engine/parallel.h"
#include "engine/tensor_reader.h"
#include "kernels/kernels.h"
#include "weights/hf_config.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

struct Scratch;

struct TrunkShape {
  int32_t vocabulary = 0;
  int32_t types = 1;       // number of segment types
  int32_t tokens_max = 0;  // per sequence
  int32_t ids_max = 0;     // for single runs of ids, if a network has no positions that end; or 0
  int32_t layers = 0;
  int32_t hidden = 0;
  int32_t heads = 0;       // attention heads
  int32_t wide = 0;        // widest row in a feed-forward layer
  int32_t head_width = 0;  // values of one head; 0: hidden / heads
  int32_t kv_heads = 0;    // heads of keys and values, a divisor of `heads`; 0: equal to `heads`
  bool causal = false;     // a token attends only to itself and to earlier tokens
  float score_scale = 0;   // factor of attention's scores; 0: 1 / sqrt(head width)
  int32_t distances = 0;   // rows of the tables in kernels::DistanceTerms
  bool has_side = false;   // needs a second buffer of hidden states
  bool resumes = false;    // has no step after the last layer, so that Trunk::resume() works

  int32_t head_dim() const { return head_width == 0 ? hidden / heads : head_width; }
  /// Width of attention's output of one token.
  int32_t mixed() const { return heads * head_dim(); }
  /// The attention of one sequence. `window`: see AttentionShape.
  kernels::AttentionShape attention(int32_t tokens, int32_t window) const {
    return {tokens, heads, head_dim(), window, kv_heads, causal, score_scale, distances};
  }
  /// Width of one token's queries, keys and values.
  int64_t qkv() const { return attention(1, kernels::kNoWindow).qkv_width(); }
};

/// Immutable and thread-safe.
class Trunk {
 public:
  virtual ~Trunk() = default;
  const TrunkShape& shape() const { return shape_; }
  /// Bytes of the weights, in the trunk's own memory or in the mapped file.
  uint64_t weights_bytes() const { return weights_bytes_; }

  /// Runs scratch.batch through the first `layers` layers and the network's final step. Afterwards
  /// scratch.x (tokens, hidden) holds the hidden states. A sequence's rows do not depend on the
  /// other sequences or the number of workers, bit for bit. Requires 0 <= layers <= shape().layers,
  /// a batch that was checked against the shape, and a call of scratch.reserve() for it.
  virtual void encode(Scratch& scratch, int32_t layers, Workers& workers) const = 0;

  /// Continues where a pass through the first `from` layers ended, up to layer `to`: with the same
  /// batch, or with those of its sequences that Scratch::keep() left. The result is that of a pass
  /// without a stop, bit for bit. Requires shape().resumes and 0 <= from <= to <= shape().layers.
  virtual void resume(Scratch& scratch, int32_t from, int32_t to, Workers& workers) const;

  /// Multiply-adds of the matrix products and attention for one sequence of `tokens` through all
  /// layers. Attention outside the window is not computed and not counted.
  virtual double multiply_adds(int32_t tokens) const = 0;

 protected:
  Trunk(const TrunkShape& shape, uint64_t weights_bytes)
      : shape_(shape), weights_bytes_(weights_bytes) {}

 private:
  TrunkShape shape_;
  uint64_t weights_bytes_;
};

struct TrunkOptions {
  const kernels::Table& kernels;
  kernels::Format format = kernels::Format::kF32;  // for matrices that are not packed in the file
  /// Numbers of the layers whose matrices are kept in bfloat16 if `format` is kI8.
  std::set<int32_t> wide_layers = {};
  /// If not null, receives the packed matrices, which point into the trunk.
  std::vector<PackedMatrix>* packed = nullptr;
  /// If not null, an adapter that is merged into the weights. It must outlive the trunk.
  weights::LoraUse* merge = nullptr;
  /// If not null, receives the linear layers in the order of Linear::place().
  std::vector<LinearSpec>* linears = nullptr;

  kernels::Format format_of(int32_t layer) const {
    const bool wide = format == kernels::Format::kI8 && wide_layers.contains(layer);
    return wide ? kernels::Format::kBF16 : format;
  }
};

/// Starts to read a trunk's weights, whose names begin with `prefix`.
TensorReader read_weights(const weights::SafeTensors& file, const TrunkOptions& options,
                          std::string prefix);

/// The memory that a trunk's layers point into, unless the file holds them packed.
struct WeightsMemory {
  Arena arena;
  uint64_t bytes = 0;  // of all weights
};

/// Ends the reading: returns the memory, and hands out what the options request. Errors: the first
/// of the reader.
Result<WeightsMemory> finish_weights(TensorReader& reader, const TrunkOptions& options);

/// Returns the number of pairs (i, j) of a sequence's tokens with |i - j| <= window; if `causal`,
/// only those with j <= i.
double attended_pairs(int32_t tokens, int32_t window, bool causal = false);

/// Opens the trunk described by config.json. `file` and the kernels must outlive it. Errors:
/// kUnsupported for an unsupported architecture or option; kCorrupt for contradictory values or
/// tensors. Each names the file and the item.
Result<std::unique_ptr<const Trunk>> open_trunk(const weights::HfConfig& config,
                                                const weights::SafeTensors& file,
                                                const TrunkOptions& options);

}  // namespace signalbox::engine
