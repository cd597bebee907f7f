#pragma once
// y = finish(x w^T) over a packed matrix (panel.h), with the same loops for every format. A sweep
// of rows processes one panel after the other. Within a panel it processes blocks of steps that
// stay in the first-level cache while all rows of the sweep pass. The sums of a sweep, one panel
// wide, stay in the second-level cache. After the panel's last block, `finish` receives them.
//
// Each output is one sum that accumulates in the order of k, so a row's result has the same bits
// regardless of the other rows. kernels/openblas.h is another code for sums in single precision.

#include "kernels/body/ahead.h"
#include "kernels/body/finish.h"
#include "kernels/body/panel.h"

namespace signalbox::kernels::body {

// Maximum rows per sweep. Their sums take 96 KB of stack.
inline constexpr int64_t kSweepRows = 384;

// Returns the rows per sweep. Sweeps get nearly equal sizes because each one reads all weights, so
// a short last sweep would be wasteful.
inline int64_t sweep_rows(int64_t rows) {
  const int64_t sweeps = (rows + kSweepRows - 1) / kSweepRows;
  return (rows + sweeps - 1) / sweeps;
}

/// Multiplies all rows of a sweep by one block of steps, in tiles of nearly equal size. Each pass
/// over the steps also prefetches a part of the next block in memory.
template <class Product>
void run_block(int64_t rows, bool adds, int64_t steps, const typename Product::X* x,
               int64_t x_stride, const char* block, typename Product::Sum* sums) {
  const auto* weights = reinterpret_cast<const typename Product::Format::Weight*>(block);
  int64_t tiles = (rows + Product::kRows - 1) / Product::kRows;
  const int64_t passes = tiles * Product::kPasses;
  Ahead ahead{block + steps * kStepBytes, (kStepBytes + passes - 1) / passes};
  for (; tiles > 0; --tiles) {
    const int64_t tile = (rows + tiles - 1) / tiles;
    if (adds) {
      Product::template run<true>(tile, steps, x, x_stride, weights, sums, ahead);
    } else {
      Product::template run<false>(tile, steps, x, x_stride, weights, sums, ahead);
    }
    ahead = ahead.after(steps * Product::kPasses);
    rows -= tile;
    x += tile * x_stride;
    sums += tile * kPanelColumns;
  }
}

/// Product is supplied by the tier:
///   Format, X (type of activations), Sum
///   kRows, the maximum rows of a tile; kPasses over its steps
///   run<kAdds>(rows, steps, x, x_stride, weights, sums, ahead): sums (rows, 64) = x times a block
///   of steps, or += if kAdds; prefetches at each step of each pass
/// finish(panel index, first row, rows, sums) receives the complete sums (rows, 64).
template <class Product, class Finish>
void sweep_panels(int64_t rows, int64_t in, int64_t panels, const typename Product::X* x,
                  const void* packed, const Finish& finish) {
  using Format = typename Product::Format;
  const int64_t steps = steps_of<Format>(in);
  const int64_t stride = row_stride<Format>(in);
  const int64_t sweep = rows > 0 ? sweep_rows(rows) : 1;
  alignas(64) typename Product::Sum sums[kSweepRows * kPanelColumns];
  for (int64_t top = 0; top < rows; top += sweep) {
    const int64_t here = rows - top < sweep ? rows - top : sweep;
    for (int64_t p = 0; p < panels; ++p) {
      const Panel<Format> panel(packed, in, p);
      for (int64_t step = 0; step < steps; step += kBlockSteps) {
        const int64_t block = steps - step < kBlockSteps ? steps - step : kBlockSteps;
        run_block<Product>(here, step > 0, block, x + top * stride + step * Format::kDepth, stride,
                           panel.steps + step * kStepBytes, sums);
      }
      finish(p, top, here, sums);
    }
  }
}

/// Calls block.template run<R>() where R equals `rows`; requires 1 <= rows <= Max.
template <int Max, class Block>
[[gnu::always_inline]] inline void with_rows(int64_t rows, const Block& block) {
  if constexpr (Max > 1) {
    if (rows < Max) return with_rows<Max - 1>(rows, block);
  }
  block.template operator()<Max>();
}

}  // namespace signalbox::kernels::body
