#pragma once
// Linear layers on a machine that multiplies tiles: registers of up to 16 rows of 64 bytes, as in
// Intel's AMX. A step of a packed panel (panel.h) is a row of four tiles of weights, so the tiles
// are loaded from the packed matrix as it lies. A block is up to 32 rows by 32 columns in four
// tiles of sums. Steps that do not fill a tile are multiplied separately, with narrower tiles. The
// tiles are configured only when their shapes change, because that costs as much as several
// multiplications.
//
// Tiles is the processor (x86/amx_tiles.h), or its model in tests:
//   configure(TileShapes), release()
//   zero<t>(), load<t>(base, stride), store<t>(base, stride)
//   multiply_i8<sums, x, w>(), multiply_bf16<sums, x, w>()

#include <type_traits>

#include "kernels/body/linear.h"

namespace signalbox::kernels::body {

inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kTileBytes = 64;  // of one row

/// The tile configuration of the instruction ldtilecfg: palette 1, then the bytes of a row and the
/// rows of each tile.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

/// A Product of linear.h. Type is I8 or BF16.
template <class Tiles, class Type>
class TileProduct {
 public:
  static constexpr bool kIsI8 = Type::kDepth == 4;
  using Format = Type;
  using X = std::conditional_t<kIsI8, uint8_t, uint16_t>;
  using Sum = std::conditional_t<kIsI8, int32_t, float>;
  static constexpr int64_t kRows = 2 * kTileRows;
  static constexpr int64_t kPasses = kPanelColumns / 32;
  static constexpr bool kFetchesInFinish = true;

  TileProduct() = default;
  TileProduct(const TileProduct&) = delete;
  ~TileProduct() {
    if (rows_ > 0) Tiles::release();
  }

  /// Tiles 0 to 3 hold the sums, 4 and 5 the activations, 6 and 7 the weights.
  static TileShapes shapes_of(int64_t rows, int64_t steps) {
    TileShapes shapes;
    const auto set = [&](int tile, int64_t tile_rows, int64_t bytes) {
      shapes.rows[tile] = static_cast<uint8_t>(tile_rows);
      shapes.row_bytes[tile] = static_cast<uint16_t>(bytes);
    };
    const int64_t upper = rows < kTileRows ? rows : kTileRows;
    const int64_t lower = rows > kTileRows ? rows - kTileRows : upper;
    for (const int tile : {0, 1}) set(tile, upper, kTileBytes);
    for (const int tile : {2, 3}) set(tile, lower, kTileBytes);
    set(4, upper, 4 * steps);
    set(5, lower, 4 * steps);
    for (const int tile : {6, 7}) set(tile, steps, kTileBytes);
    return shapes;
  }

  template <bool kAdds>
  void run(int64_t rows, int64_t steps, const X* x, int64_t x_stride,
           const typename Format::Weight* weights, Sum* sums, Ahead ahead) {
    const int64_t full = steps / kTileRows * kTileRows;
    const int64_t rest = steps - full;
    if (full > 0) part(rows, kTileRows, full, kAdds, x, x_stride, weights, sums, ahead);
    if (rest > 0) {
      const bool adds = kAdds || full > 0;
      part(rows, rest, rest, adds, x + full * Format::kDepth, x_stride,
           weights + full * kPanelColumns * Format::kDepth, sums, ahead.after(kPasses * full));
    }
  }

 private:
  static constexpr int64_t kSumsStride = kPanelColumns * sizeof(Sum);

  // Multiplies `steps` steps, a multiple of the tile's steps.
  void part(int64_t rows, int64_t tile_steps, int64_t steps, bool adds, const X* x,
            int64_t x_stride, const typename Format::Weight* weights, Sum* sums, Ahead ahead) {
    configure(rows, tile_steps);
    for (int64_t c = 0; c < kPanelColumns; c += 32, ahead = ahead.after(steps)) {
      if (rows > kTileRows) {
        block<true>(tile_steps, steps, adds, x, x_stride, weights + c * Format::kDepth, sums + c,
                    ahead);
      } else {
        block<false>(tile_steps, steps, adds, x, x_stride, weights + c * Format::kDepth, sums + c,
                     ahead);
      }
    }
  }

  void configure(int64_t rows, int64_t steps) {
    if (rows == rows_ && steps == steps_) return;
    Tiles::configure(shapes_of(rows, steps));
    rows_ = rows;
    steps_ = steps;
  }

  // The prefetches are spread over the multiplications. Together they would fill the line buffers
  // that the tile loads need.
  template <bool kTwo>
  static void block(int64_t tile_steps, int64_t steps, bool adds, const X* x, int64_t x_stride,
                    const typename Format::Weight* weights, Sum* sums, Ahead ahead) {
    const int64_t stride = x_stride * sizeof(X);
    const int64_t quarter = tile_steps * ahead.stride / 4;
    const int64_t rest = tile_steps * ahead.stride - 3 * quarter;
    begin<0, 1>(adds, sums);
    if constexpr (kTwo) begin<2, 3>(adds, sums + kTileRows * kPanelColumns);
    for (int64_t k = 0; k < steps; k += tile_steps) {
      const auto* w = weights + k * kPanelColumns * Format::kDepth;
      const X* at = x + k * Format::kDepth;
      Tiles::template load<4>(at, stride);
      Tiles::template load<6>(w, kStepBytes);
      multiply<0, 4, 6>();
      ahead.fetch(quarter);
      Tiles::template load<7>(w + 16 * Format::kDepth, kStepBytes);
      multiply<1, 4, 7>();
      ahead.fetch(quarter);
      if constexpr (kTwo) {
        Tiles::template load<5>(at + kTileRows * x_stride, stride);
        multiply<2, 5, 6>();
        ahead.fetch(quarter);
        multiply<3, 5, 7>();
        ahead.fetch(rest);
      } else {
        ahead.fetch(quarter + rest);
      }
    }
    end<0, 1>(sums);
    if constexpr (kTwo) end<2, 3>(sums + kTileRows * kPanelColumns);
  }

  template <int kLeft, int kRight>
  static void begin(bool adds, const Sum* sums) {
    if (adds) {
      Tiles::template load<kLeft>(sums, kSumsStride);
      Tiles::template load<kRight>(sums + 16, kSumsStride);
    } else {
      Tiles::template zero<kLeft>();
      Tiles::template zero<kRight>();
    }
  }

  template <int kLeft, int kRight>
  static void end(Sum* sums) {
    Tiles::template store<kLeft>(sums, kSumsStride);
    Tiles::template store<kRight>(sums + 16, kSumsStride);
  }

  template <int kSums, int kX, int kW>
  static void multiply() {
    if constexpr (kIsI8) {
      Tiles::template multiply_i8<kSums, kX, kW>();
    } else {
      Tiles::template multiply_bf16<kSums, kX, kW>();
    }
  }

  int64_t rows_ = 0, steps_ = 0;  // of the tiles' shapes; 0: not configured
};

}  // namespace signalbox::kernels::body
