#pragma once
// y = finish(x w^T) over a packed matrix (panel.h), with the same loops for every format. A sweep
// of rows processes one panel after the other. Within a panel it processes blocks of steps that
// stay in one of the core's caches while all rows of the sweep pass. The sums of a sweep, one panel
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

/// The steps of a block. A Product may have its own number.
template <class Product>
constexpr int64_t block_steps() {
  if constexpr (requires { Product::kBlockSteps; }) {
    return Product::kBlockSteps;
  } else {
    return kBlockSteps;
  }
}

/// Returns the bytes of the next block that are prefetched for each step of a block. A Product with
/// kFetchesInFinish leaves half of them to the finish of a panel, where memory would be idle.
template <class Product>
constexpr int64_t fetched_bytes(bool is_last) {
  if constexpr (requires { Product::kFetchesInFinish; }) {
    if (is_last) return kStepBytes / 2;
  }
  return kStepBytes;
}

/// A tile of rows and a block of steps of one panel.
template <class Product>
struct Tile {
  Product& product;
  int64_t panel;
  int64_t top;  // the first row
  int64_t rows;
  bool is_first, is_last;  // of the panel's blocks
  int64_t steps;
  const typename Product::X* x;
  int64_t x_stride;
  const typename Product::Format::Weight* weights;
  typename Product::Sum* sums;
  Ahead ahead;

  /// Calls multiply<kAdds>(): kAdds if the sums are those of the blocks before.
  template <class Multiply>
  [[gnu::always_inline]] void choose(const Multiply& multiply) const {
    if (is_first) return multiply.template operator()<false>();
    multiply.template operator()<true>();
  }
  [[gnu::always_inline]] void run() const {
    choose([&]<bool kAdds>() {
      product.template run<kAdds>(rows, steps, x, x_stride, weights, sums, ahead);
    });
  }
};

/// Multiplies all rows of a sweep by one block of steps, in tiles of nearly equal size. `tile` is
/// one of all rows. Each pass over the steps also prefetches a part of the next block in memory.
template <class Product, class Multiply>
void run_block(Tile<Product> tile, const Multiply& multiply) {
  int64_t left = tile.rows;
  int64_t tiles = (left + Product::kRows - 1) / Product::kRows;
  const int64_t passes = tiles * Product::kPasses;
  const auto* block = reinterpret_cast<const char*>(tile.weights);
  const int64_t bytes = fetched_bytes<Product>(tile.is_last);
  tile.ahead = {block + tile.steps * kStepBytes, (bytes + passes - 1) / passes};
  for (; tiles > 0; --tiles) {
    tile.rows = (left + tiles - 1) / tiles;
    multiply(tile);
    tile.ahead = tile.ahead.after(tile.steps * Product::kPasses);
    left -= tile.rows;
    tile.top += tile.rows;
    tile.x += tile.rows * tile.x_stride;
    tile.sums += tile.rows * kPanelColumns;
  }
}

/// Product is supplied by the tier, and one is made for each call:
///   Format, X (type of activations), Sum
///   kRows, the maximum rows of a tile; kPasses over its steps
///   run<kAdds>(rows, steps, x, x_stride, weights, sums, ahead): sums (rows, 64) = x times a block
///   of steps, or += if kAdds; prefetches at each step of each pass
/// multiply(tile) runs a tile. finish(panel index, first row, rows, sums, ahead) is called after
/// the last block of a panel with the sums (rows, 64); `ahead` has the bytes to prefetch for each
/// row.
template <class Product, class Multiply, class Finish>
void sweep_tiles(int64_t rows, int64_t in, int64_t panels, const typename Product::X* x,
                 const void* packed, const Multiply& multiply, const Finish& finish) {
  using Format = typename Product::Format;
  constexpr int64_t kSteps = block_steps<Product>();
  const int64_t steps = steps_of<Format>(in);
  const int64_t stride = row_stride<Format>(in);
  const int64_t sweep = rows > 0 ? sweep_rows(rows) : 1;
  Product product;
  alignas(64) typename Product::Sum sums[kSweepRows * kPanelColumns];
  for (int64_t top = 0; top < rows; top += sweep) {
    const int64_t here = rows - top < sweep ? rows - top : sweep;
    for (int64_t p = 0; p < panels; ++p) {
      const Panel<Format> panel(packed, in, p);
      for (int64_t step = 0; step < steps; step += kSteps) {
        const char* block = panel.steps + step * kStepBytes;
        run_block<Product>({.product = product,
                            .panel = p,
                            .top = top,
                            .rows = here,
                            .is_first = step == 0,
                            .is_last = step + kSteps >= steps,
                            .steps = steps - step < kSteps ? steps - step : kSteps,
                            .x = x + top * stride + step * Format::kDepth,
                            .x_stride = stride,
                            .weights = reinterpret_cast<const typename Format::Weight*>(block),
                            .sums = sums,
                            .ahead = {}},
                           multiply);
      }
      const int64_t last = steps - (steps - 1) / kSteps * kSteps;
      const int64_t left = last * (kStepBytes - fetched_bytes<Product>(true));
      finish(p, top, here, sums,
             Ahead{panel.steps + (steps + last) * kStepBytes - left, (left + here - 1) / here});
    }
  }
}

/// Implements sweep_tiles() for a Product whose complete sums finish() receives.
template <class Product, class Finish>
void sweep_panels(int64_t rows, int64_t in, int64_t panels, const typename Product::X* x,
                  const void* packed, const Finish& finish) {
  sweep_tiles<Product>(
      rows, in, panels, x, packed, [](const Tile<Product>& tile) { tile.run(); }, finish);
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
