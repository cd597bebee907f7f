#pragma once
// The tile instructions of Intel's AMX in plain code, as the manual defines them ("Intel
// Architecture Instruction Set Extensions Programming Reference", chapter 3). An instruction that
// the processor would refuse (#UD, #GP) is counted in `faults` and does nothing.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/body/tile_product.h"

namespace signalbox::kernels {

class TileModel {
 public:
  static constexpr int kTiles = 8;

  void configure(const body::TileShapes& shapes) {
    *this = TileModel{faults_};
    bool valid = shapes.palette == 1 && shapes.start_row == 0;
    for (const uint8_t byte : shapes.reserved) valid = valid && byte == 0;
    for (int t = 0; t < 16; ++t) {
      const int rows = shapes.rows[t], bytes = shapes.row_bytes[t];
      // Both are zero, or neither is; a tile past the last has no shape.
      valid = valid && (rows == 0) == (bytes == 0) && rows <= 16 && bytes <= 64;
      valid = valid && (t < kTiles || rows == 0);
      if (t >= kTiles) continue;
      rows_[t] = rows;
      row_bytes_[t] = bytes;
    }
    configured_ = expect(valid);
  }
  void release() { *this = TileModel{faults_}; }

  void zero(int t) {
    if (expect(usable(t))) std::memset(data_[t], 0, sizeof data_[t]);
  }
  void load(int t, const void* base, int64_t stride) {
    if (!expect(usable(t))) return;
    std::memset(data_[t], 0, sizeof data_[t]);
    for (int r = 0; r < rows_[t]; ++r) {
      std::memcpy(data_[t][r], static_cast<const char*>(base) + r * stride, row_bytes_[t]);
    }
  }
  void store(int t, void* base, int64_t stride) {
    if (!expect(usable(t))) return;
    for (int r = 0; r < rows_[t]; ++r) {
      std::memcpy(static_cast<char*>(base) + r * stride, data_[t][r], row_bytes_[t]);
    }
  }

  /// tdpbusd: unsigned bytes of x, signed bytes of w.
  void multiply_i8(int sums, int x, int w) {
    if (!expect(fit(sums, x, w))) return;
    for (int m = 0; m < rows_[sums]; ++m) {
      for (int k = 0; k < row_bytes_[x] / 4; ++k) {
        for (int n = 0; n < row_bytes_[sums] / 4; ++n) {
          auto sum = at<int32_t>(sums, m, n);
          for (int i = 0; i < 4; ++i) {
            sum += at<uint8_t>(x, m, 4 * k + i) * at<int8_t>(w, k, 4 * n + i);
          }
          put(sums, m, n, sum);
        }
      }
    }
  }

  /// tdpbf16ps: the two members of the pairs are summed apart, then together, then added to the
  /// tile. Subnormal inputs and results count as zero.
  void multiply_bf16(int sums, int x, int w) {
    if (!expect(fit(sums, x, w))) return;
    for (int m = 0; m < rows_[sums]; ++m) {
      float parts[16][2] = {};
      for (int k = 0; k < row_bytes_[x] / 4; ++k) {
        for (int n = 0; n < row_bytes_[sums] / 4; ++n) {
          for (int i = 0; i < 2; ++i) {
            const float product_x = wide(at<uint16_t>(x, m, 2 * k + i));
            const float product_w = wide(at<uint16_t>(w, k, 2 * n + i));
            parts[n][i] = flushed(std::fma(product_x, product_w, parts[n][i]));
          }
        }
      }
      for (int n = 0; n < row_bytes_[sums] / 4; ++n) {
        const float sum = flushed(parts[n][0] + parts[n][1]);
        put(sums, m, n, flushed(at<float>(sums, m, n) + sum));
      }
    }
  }

  int faults() const { return faults_; }
  bool is_configured() const { return configured_; }

  TileModel() = default;

 private:
  explicit TileModel(int faults) : faults_(faults) {}

  bool expect(bool holds) {
    if (!holds) ++faults_;
    return holds;
  }
  bool usable(int t) const { return configured_ && t >= 0 && t < kTiles && rows_[t] > 0; }
  bool fit(int sums, int x, int w) const {
    return usable(sums) && usable(x) && usable(w) && sums != x && sums != w && x != w &&
           row_bytes_[sums] % 4 == 0 && row_bytes_[x] % 4 == 0 && rows_[sums] == rows_[x] &&
           row_bytes_[sums] == row_bytes_[w] && row_bytes_[x] / 4 == rows_[w];
  }
  template <class T>
  T at(int t, int row, int column) const {
    T value;
    std::memcpy(&value, data_[t][row] + column * sizeof(T), sizeof value);
    return value;
  }
  template <class T>
  void put(int t, int row, int column, T value) {
    std::memcpy(data_[t][row] + column * sizeof(T), &value, sizeof value);
  }
  static float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? 0.0f : x; }
  static float wide(uint16_t x) {
    return flushed(std::bit_cast<float>(static_cast<uint32_t>(x) << 16));
  }

  int faults_ = 0;
  bool configured_ = false;
  int rows_[kTiles] = {};
  int row_bytes_[kTiles] = {};
  char data_[kTiles][16][64] = {};
};

}  // namespace signalbox::kernels
