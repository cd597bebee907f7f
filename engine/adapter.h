#pragma once
// Low-rank adapters that share one trunk. The trunk's matrices multiply all rows of a batch at
// once. Each row then gets its own adapter's contribution to the sums before the activation. A
// batch may mix texts of any adapters and texts without one, and a text's result does not depend on
// the others. Adapters use single precision regardless of the trunk's format.
//
// Adding the contribution after the product was rejected: an activation between the two would have
// to move out of the product, and the wide result would pass through memory once more.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/batch.h"
#include "engine/linear.h"
#include "engine/tensor_reader.h"
#include "kernels/kernels.h"
#include "weights/lora.h"

namespace signalbox::engine {

/// Immutable and thread-safe.
class Adapter {
 public:
  /// The two matrices for one of the trunk's linear layers. Stacked parts are side by side.
  struct Pair {
    Linear down;              // in to rank, in kF32, scaled
    std::span<std::byte> up;  // (out, rank), packed in kF32; gated if the layer is
  };

  /// Takes the parts for `linears` from `use`. `linears` are a trunk's linear layers in order.
  /// Errors: kCorrupt for shapes that do not match.
  static Result<Adapter> open(weights::LoraUse& use, std::span<const LinearSpec> linears,
                              const kernels::Table& kernels);

  /// Returns the contribution to the layer at that place, or nullptr.
  const Pair* pair(int32_t place) const { return pairs_[place] ? &*pairs_[place] : nullptr; }
  int32_t rank_max() const { return rank_max_; }

 private:
  std::vector<std::optional<Pair>> pairs_;  // (linears)
  int32_t rank_max_ = 0;
  Arena arena_;  // owns the memory of the pairs
};

/// One thread's working memory for the adapters of a block of rows.
struct LowRankScratch {
  Buffer<float> reduced;               // (rows, rank)
  std::vector<kernels::LowRank> rows;  // (rows)

  void reserve(int64_t count, int32_t rank_max) {
    const int64_t size = count * rank_max;
    if (static_cast<int64_t>(reduced.size()) < size) reduced = Buffer<float>(size);
    if (static_cast<int64_t>(rows.size()) < count) rows.resize(count);
  }
};

/// Computes the adapters' contributions to rows [begin, begin + rows) of the batch in the layer's
/// product, or returns nullptr if there are none. x (rows, in). The result points into `scratch`,
/// which must be large enough.
const kernels::LowRank* reduce_rows(const Linear& layer, const kernels::Table& kernels,
                                    const Batch& batch, int64_t begin, int32_t rows, const float* x,
                                    LowRankScratch& scratch);

}  // namespace signalbox::engine
