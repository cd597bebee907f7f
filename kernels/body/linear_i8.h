#pragma once
// Linear layers with 8-bit activations and weights. x is quantised by row at run time (quantize.h);
// w is quantised by output channel when it is packed. The sums are exact integers, so every tier
// gives the same result.

#include <cstring>

#include "kernels/body/linear.h"
#include "kernels/body/quantize.h"

namespace signalbox::kernels::body {

// Converts sums to floats. The result is the same on every tier, because this uses two
// multiplications and no addition that a compiler could fuse with them.
template <class Arch, bool kShifted>
void dequantize_row(const Panel<I8>& panel, const int32_t* sums, float scale, float* out) {
  using Integers = xsimd::batch<int32_t, Arch>;
  for (int64_t c = 0; c < kPanelColumns; c += kLanes<Arch>) {
    auto exact = Integers::load_unaligned(sums + c);
    if constexpr (kShifted) exact -= Integers::load_unaligned(panel.corrections() + c);
    const auto scales = Batch<Arch>::load_unaligned(panel.scales() + c) * Batch<Arch>(scale);
    (xsimd::to_float(exact) * scales).store_unaligned(out + c);
  }
}

/// True if the sums contain the shift of the activations. A Product with kShiftsBack removes it.
template <class Product>
inline constexpr bool kSumsAreShifted = !requires {
  Product::kShiftsBack;
};

/// The place of a tile's results, and the factors that convert its sums to them.
struct ConvertedRows {
  const float* scales;         // of the columns
  const int32_t* corrections;  // of the columns
  const float* row_scales;
  float* y;
  int64_t stride;
};

/// Implements `linear_i8` with a Product that converts the sums while they are in registers, to the
/// same numbers as dequantize_row():
///   convert<kAdds>(rows, steps, x, x_stride, weights, sums, ahead, ConvertedRows)
/// A product that needs nothing else is written straight to y. Its stores then overlap with the
/// next tile, whereas those of a whole panel wait for memory.
template <class Arch, class Product>
void linear_i8_converted(const LinearShape& shape, const uint8_t* q, const float* scales,
                         const void* packed, const Epilogue& epilogue, float* y) {
  const bool gated = is_gated(epilogue.finish);
  const int64_t width = gated ? shape.out / 2 : shape.out;
  const bool is_plain = epilogue.finish == Finish::kStore && epilogue.bias == nullptr &&
                        epilogue.low_rank == nullptr && width % kPanelColumns == 0;
  const auto multiply = [&](const Tile<Product>& tile) {
    if (!tile.is_last) return tile.run();
    const Panel<I8> panel(packed, shape.in, tile.panel);
    float* top = y + tile.top * width;
    alignas(64) float rows[Product::kRows * kPanelColumns];
    const ConvertedRows to{panel.scales(), panel.corrections(), scales + tile.top,
                           is_plain ? top + tile.panel * kPanelColumns : rows,
                           is_plain ? width : kPanelColumns};
    tile.choose([&]<bool kAdds>() {
      Product::template convert<kAdds>(tile.rows, tile.steps, tile.x, tile.x_stride, tile.weights,
                                       tile.sums, tile.ahead, to);
    });
    if (is_plain) return;
    finish_rows<Arch>(epilogue, tile.panel, tile.top, tile.rows, width, top,
                      [&](int64_t r) { return rows + r * kPanelColumns; });
  };
  sweep_tiles<Product>(shape.rows, shape.in, panels_of(shape.out, gated), q, packed, multiply,
                       [](int64_t, int64_t, int64_t, const int32_t*, Ahead) {});
}

/// Implements `linear_i8` of the kernel table.
template <class Arch, class Product>
void linear_i8(const LinearShape& shape, const uint8_t* q, const float* scales, const void* packed,
               const Epilogue& epilogue, float* y) {
  const bool gated = is_gated(epilogue.finish);
  const int64_t width = gated ? shape.out / 2 : shape.out;
  sweep_panels<Product>(
      shape.rows, shape.in, panels_of(shape.out, gated), q, packed,
      [&](int64_t p, int64_t top, int64_t rows, const int32_t* sums, Ahead ahead) {
        const Panel<I8> panel(packed, shape.in, p);
        alignas(64) float row[kPanelColumns];
        finish_rows<Arch>(epilogue, p, top, rows, width, y + top * width, [&](int64_t r) {
          ahead.fetch(ahead.stride);
          dequantize_row<Arch, kSumsAreShifted<Product>>(panel, sums + r * kPanelColumns,
                                                         scales[top + r], row);
          return row;
        });
      });
}

/// A Product for any processor.
struct ProductI8 {
  using Format = I8;
  using X = uint8_t;
  using Sum = int32_t;
  static constexpr int64_t kRows = 1;
  static constexpr int64_t kPasses = 1;

  template <bool kAdds>
  static void run(int64_t, int64_t steps, const uint8_t* q, int64_t, const int8_t* weights,
                  int32_t* sums, Ahead ahead) {
    if (!kAdds) std::memset(sums, 0, kPanelColumns * sizeof(int32_t));
    for (int64_t k = 0; k < steps; ++k, q += Format::kDepth) {
      ahead.fetch();
      for (int64_t c = 0; c < kPanelColumns; ++c, weights += Format::kDepth) {
        sums[c] += q[0] * weights[0] + q[1] * weights[1] + q[2] * weights[2] + q[3] * weights[3];
      }
    }
  }
};

}  // namespace signalbox::kernels::body
