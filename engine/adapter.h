#pragma once
// Low-rank adapters beside a trunk that they share: the base's matrices multiply all rows of a
// batch at once, and each row gets its own adapter's part in the sums, before the activation. So a
// batch may hold texts of any adapters and of none, and a text's result stays its own. An adapter
// is in single precision, whatever the trunk's format.
//
// Adding the part behind the product was rejected: an activation between the two would have to
// leave the product too, and the wide result would go through memory once more.

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
  /// The two matrices of one of the trunk's linear layers; stacked parts stand side by side.
  struct Pair {
    Linear down;              // in to rank, in kF32, with the adapter's scale
    std::span<std::byte> up;  // (out, rank), packed in kF32, gated as the layer is
  };

  /// Takes from `use` what it has for `linears`, those of a trunk in their order. Errors:
  /// kCorrupt for shapes that do not fit.
  static Result<Adapter> open(weights::LoraUse& use, std::span<const LinearSpec> linears,
                              const kernels::Table& kernels);

  /// What it adds to the layer of that place, or null.
  const Pair* pair(int32_t place) const { return pairs_[place] ? &*pairs_[place] : nullptr; }
  int32_t rank_max() const { return rank_max_; }

 private:
  std::vector<std::optional<Pair>> pairs_;  // (linears)
  int32_t rank_max_ = 0;
  Arena arena_;  // what the pairs look into
};

/// What one thread needs for the adapters of a block of rows.
struct LowRankScratch {
  Buffer<float> reduced;               // (rows, rank)
  std::vector<kernels::LowRank> rows;  // (rows)

  void reserve(int64_t count, int32_t rank_max) {
    const int64_t size = count * rank_max;
    if (static_cast<int64_t>(reduced.size()) < size) reduced = Buffer<float>(size);
    if (static_cast<int64_t>(rows.size()) < count) rows.resize(count);
  }
};

/// What adapters add to rows [begin, begin + rows) of the batch in the layer's product, or null for
/// nothing; x (rows, in). Looks into `scratch`, which has room.
const kernels::LowRank* reduce_rows(const Linear& layer, const kernels::Table& kernels,
                                    const Batch& batch, int64_t begin, int32_t rows, const float* x,
                                    LowRankScratch& scratch);

}  // namespace signalbox::engine
