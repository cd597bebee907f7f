#pragma once
// Linear layers with sums in single precision. The weights are f32, or bf16 on processors without a
// bf16 dot product; those widen the weights.

#include <cstring>

#include "kernels/body/linear.h"
#include "kernels/body/register_block.h"

namespace signalbox::kernels::body {

template <class Arch>
struct ProductF32 {
  using Format = F32;
  using X = float;
  using Sum = float;
  static constexpr int64_t kRows = kBlockRows<Arch>;
  static constexpr int64_t kPasses = kPanelColumns / kPanel<Arch>;

  template <bool kAdds>
  static void run(int64_t rows, int64_t steps, const float* x, int64_t x_stride,
                  const float* weights, float* sums, Ahead ahead) {
    for (int64_t c = 0; c < kPanelColumns; c += kPanel<Arch>, ahead = ahead.after(steps)) {
      with_rows<kRows>(rows, [&]<int Rows>() {
        register_block<Arch, Rows, kAdds>(steps, x, x_stride, weights + c, kPanelColumns, sums + c,
                                          kPanelColumns, ahead);
      });
    }
  }
};

// A bf16 weight is the upper half of a float. A 32-bit word holds the two weights of a step: the
// second is used in place (masked), the first is shifted up. Activations stay in single precision.
template <class Arch>
struct ProductBF16 {
  using Format = BF16;
  using X = float;
  using Sum = float;
  static constexpr int64_t kRows = kRegisters<Arch> == 32 ? 12 : 4;
  static constexpr int64_t kPasses = kPanelColumns / kPanel<Arch>;

  template <bool kAdds>
  static void run(int64_t rows, int64_t steps, const float* x, int64_t x_stride,
                  const uint16_t* weights, float* sums, Ahead ahead) {
    for (int64_t c = 0; c < kPanelColumns; c += kPanel<Arch>, ahead = ahead.after(steps)) {
      with_rows<kRows>(rows, [&]<int Rows>() {
        block<Rows, kAdds>(steps, x, x_stride, weights + 2 * c, sums + c, ahead);
      });
    }
  }

 private:
  using Words = xsimd::batch<uint32_t, Arch>;

  static Batch<Arch> first_of(const Words& words) {
    return xsimd::bitwise_cast<Batch<Arch>>(words << 16);
  }
  static Batch<Arch> second_of(const Words& words) {
    return xsimd::bitwise_cast<Batch<Arch>>(words & Words(0xFFFF0000u));
  }
  static Words load(const void* pairs) {
    return Words::load_unaligned(static_cast<const uint32_t*>(pairs));
  }

  template <int Rows, bool kAdds>
  [[gnu::noinline]] static void block(int64_t steps, const float* x, int64_t x_stride,
                                      const uint16_t* weights, float* sums, Ahead ahead) {
    Batch<Arch> acc[Rows][kBlockBatches];
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < kBlockBatches; ++c) {
        if constexpr (kAdds) {
          acc[r][c] = Batch<Arch>::load_unaligned(sums + r * kPanelColumns + c * kLanes<Arch>);
        } else {
          acc[r][c] = Batch<Arch>(0.0f);
        }
      }
    }
    for (int64_t k = 0; k < steps; ++k, weights += kPanelColumns * Format::kDepth) {
      ahead.fetch();
      const Words words0 = load(weights);
      const Words words1 = load(weights + 2 * kLanes<Arch>);
      const Batch<Arch> w00 = first_of(words0), w01 = first_of(words1);
      const Batch<Arch> w10 = second_of(words0), w11 = second_of(words1);
#pragma GCC unroll 12
      for (int r = 0; r < Rows; ++r) {
        const Batch<Arch> x0(x[r * x_stride + 2 * k]), x1(x[r * x_stride + 2 * k + 1]);
        acc[r][0] = xsimd::fma(x0, w00, acc[r][0]);
        acc[r][1] = xsimd::fma(x0, w01, acc[r][1]);
        acc[r][0] = xsimd::fma(x1, w10, acc[r][0]);
        acc[r][1] = xsimd::fma(x1, w11, acc[r][1]);
      }
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < kBlockBatches; ++c)
        acc[r][c].store_unaligned(sums + r * kPanelColumns + c * kLanes<Arch>);
    }
  }
};

/// Multiplies in single precision, finishes the sums and writes y.
template <class Arch, class Product>
void linear_float(const LinearShape& shape, const typename Product::X* x, const void* packed,
                  const Epilogue& epilogue, float* y) {
  const bool gated = is_gated(epilogue.finish);
  const int64_t width = gated ? shape.out / 2 : shape.out;
  sweep_panels<Product>(
      shape.rows, shape.in, panels_of(shape.out, gated), x, packed,
      [&](int64_t panel, int64_t top, int64_t rows, const float* sums, Ahead ahead) {
        finish_rows<Arch>(epilogue, panel, top, rows, width, y + top * width, [&](int64_t r) {
          ahead.fetch(ahead.stride);
          return sums + r * kPanelColumns;
        });
      });
}

/// Implements `linear_f32` of the kernel table.
template <class Arch>
void linear_f32(const LinearShape& shape, const float* x, const void* packed,
                const Epilogue& epilogue, float* y) {
  linear_float<Arch, ProductF32<Arch>>(shape, x, packed, epilogue, y);
}

/// Implements `linear_bf16` of the kernel table. Weights come in pairs, which extend past the end
/// of a row of odd length, so such rows are copied to wider ones.
template <class Arch>
void linear_bf16(const LinearShape& shape, const float* x, float* scratch, const void* packed,
                 const Epilogue& epilogue, float* y) {
  if (shape.in % 2 != 0) {
    const int64_t stride = row_stride<BF16>(shape.in);
    for (int64_t r = 0; r < shape.rows; ++r) {
      std::memcpy(scratch + r * stride, x + r * shape.in, shape.in * sizeof(float));
      scratch[r * stride + shape.in] = 0.0f;
    }
    x = scratch;
  }
  linear_float<Arch, ProductBF16<Arch>>(shape, x, packed, epilogue, y);
}

}  // namespace signalbox::kernels::body
