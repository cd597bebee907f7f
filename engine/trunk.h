#pragma once
// An encoder without heads: token ids in, hidden states out. Heads read what a trunk computed, so
// any number of them costs one pass.

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
  int32_t types = 1;       // segment types of tokens
  int32_t tokens_max = 0;  // of one sequence
  int32_t layers = 0;
  int32_t hidden = 0;
  int32_t heads = 0;  // of attention; hidden is a multiple
  int32_t wide = 0;   // widest row inside a feed-forward layer

  int32_t head_dim() const { return hidden / heads; }
};

/// Immutable and thread-safe.
class Trunk {
 public:
  virtual ~Trunk() = default;
  const TrunkShape& shape() const { return shape_; }
  /// What its weights take, whether in memory of their own or in the mapped file.
  uint64_t weights_bytes() const { return weights_bytes_; }

  /// Runs scratch.batch through the first `layers` layers and what ends the network after its last;
  /// scratch.x (tokens, hidden) holds the hidden states afterwards. A sequence's rows do not depend
  /// on the other sequences nor on the number of workers, to the last bit. Preconditions: 0 <=
  /// layers <= shape().layers, the batch was checked against the shape, and scratch.reserve() was
  /// called for it.
  virtual void encode(Scratch& scratch, int32_t layers, Workers& workers) const = 0;

  /// Multiply-adds of the matrix products and of attention for one sequence of `tokens` through all
  /// layers: what is not computed, outside of a window, is not counted.
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
  kernels::Format format = kernels::Format::kF32;  // of matrices that the file does not hold packed
  /// Layers, by number, whose matrices are held in bfloat16 when `format` is kI8.
  std::set<int32_t> wide_layers = {};
  /// Filled with what was packed, when not null; it looks into the trunk.
  std::vector<PackedMatrix>* packed = nullptr;
  /// An adapter that the weights are read with, when not null; outlives the trunk.
  weights::LoraUse* merge = nullptr;
  /// Filled with the linear layers in the order of Linear::place(), when not null.
  std::vector<LinearSpec>* linears = nullptr;

  kernels::Format format_of(int32_t layer) const {
    const bool wide = format == kernels::Format::kI8 && wide_layers.contains(layer);
    return wide ? kernels::Format::kBF16 : format;
  }
};

/// Pairs (i, j) of a sequence's tokens with |i - j| <= window.
double attended_pairs(int32_t tokens, int32_t window);

/// The trunk that config.json describes. It looks into `file` and the kernels, which outlive it.
/// Errors: kUnsupported for an architecture or an option that is not built, kCorrupt for values and
/// tensors that contradict each other; each names the file and what in it.
Result<std::unique_ptr<const Trunk>> open_trunk(const weights::HfConfig& config,
                                                const weights::SafeTensors& file,
                                                const TrunkOptions& options);

}  // namespace signalbox::engine
