#pragma once
// The block for arm64's instructions that multiply matrices of two rows and two columns: 16 columns
// at a time for up to three pairs of rows. A step has one word of a column's weights; an
// instruction takes the words of two steps, so the words of two steps are interleaved. Where there
// is no second row or step, the first row is read twice or the second words are zero.
//
// Ops has Format, X, Sum, Register (four sums) and multiply(acc, x, w): acc (2, 2) += x (2, two
// words) w (2, two words)^T.

#include <arm_neon.h>

#include "kernels/body/linear.h"

namespace signalbox::kernels::arm {

template <class Ops>
struct MatrixProduct {
  using Format = typename Ops::Format;
  using X = typename Ops::X;
  using Sum = typename Ops::Sum;
  static constexpr int64_t kRows = 6;
  static constexpr int64_t kPasses = body::kPanelColumns / 16;

  template <bool kAdds>
  static void run(int64_t rows, int64_t steps, const X* x, int64_t stride,
                  const typename Format::Weight* weights, Sum* sums, body::Ahead ahead) {
    for (int64_t c = 0; c < body::kPanelColumns; c += 16, ahead = ahead.after(steps)) {
      body::with_rows<kRows / 2>((rows + 1) / 2, [&]<int Pairs>() {
        block<Pairs, kAdds>(rows, steps, reinterpret_cast<const char*>(x), stride * sizeof(X),
                            reinterpret_cast<const char*>(weights + c * Format::kDepth), sums + c,
                            ahead);
      });
    }
  }

 private:
  using Register = typename Ops::Register;
  static constexpr int kGroups = 4;  // of four columns, which take two accumulators a pair of rows

  [[gnu::always_inline]] static uint32x4_t load(const char* words) {
    return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(words)));
  }
  [[gnu::always_inline]] static uint32x2_t one_word(const char* at) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return vset_lane_u32(word, vdup_n_u32(0), 0);
  }

  // Adds two steps, or one if !kBoth. x (Pairs) holds two words of two rows.
  template <bool kBoth, int Pairs>
  [[gnu::always_inline]] static void two_steps(const char* weights, const uint32x4_t (&x)[Pairs],
                                               Register (&acc)[Pairs][2 * kGroups]) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const uint32x4_t first = load(weights + 16 * g);
      const uint32x4_t second = kBoth ? load(weights + body::kStepBytes + 16 * g) : vdupq_n_u32(0);
      const uint32x4_t low = vzip1q_u32(first, second), high = vzip2q_u32(first, second);
#pragma GCC unroll 3
      for (int p = 0; p < Pairs; ++p) {
        acc[p][2 * g] = Ops::multiply(acc[p][2 * g], x[p], low);
        acc[p][2 * g + 1] = Ops::multiply(acc[p][2 * g + 1], x[p], high);
      }
    }
  }

  template <int Pairs, bool kAdds>
  [[gnu::noinline]] static void block(int64_t rows, int64_t steps, const char* x, int64_t stride,
                                      const char* weights, Sum* sums, body::Ahead ahead) {
    Register acc[Pairs][2 * kGroups];
    const char* row[Pairs][2];
#pragma GCC unroll 3
    for (int p = 0; p < Pairs; ++p) {
      row[p][0] = x + 2 * p * stride;
      row[p][1] = 2 * p + 1 < rows ? row[p][0] + stride : row[p][0];
#pragma GCC unroll 8
      for (int i = 0; i < 2 * kGroups; ++i) acc[p][i] = Ops::zero();
    }
    uint32x4_t both[Pairs];
    int64_t k = 0;
    for (; k + 2 <= steps; k += 2, weights += 2 * body::kStepBytes) {
      ahead.fetch();
      ahead.fetch();
#pragma GCC unroll 3
      for (int p = 0; p < Pairs; ++p) {
        both[p] = vcombine_u32(two_words(row[p][0] + 4 * k), two_words(row[p][1] + 4 * k));
      }
      two_steps<true>(weights, both, acc);
    }
    if (k < steps) {
#pragma GCC unroll 3
      for (int p = 0; p < Pairs; ++p) {
        both[p] = vcombine_u32(one_word(row[p][0] + 4 * k), one_word(row[p][1] + 4 * k));
      }
      two_steps<false>(weights, both, acc);
    }
#pragma GCC unroll 3
    for (int p = 0; p < Pairs; ++p) {
      Sum* out = sums + 2 * p * body::kPanelColumns;
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) {
        const Register left = acc[p][2 * g], right = acc[p][2 * g + 1];
        Ops::template store<kAdds>(Ops::first_row(left, right), out + 4 * g);
        if (2 * p + 1 < rows) {
          Ops::template store<kAdds>(Ops::second_row(left, right),
                                     out + body::kPanelColumns + 4 * g);
        }
      }
    }
  }

  [[gnu::always_inline]] static uint32x2_t two_words(const char* at) {
    return vreinterpret_u32_u8(vld1_u8(reinterpret_cast<const uint8_t*>(at)));
  }
};

}  // namespace signalbox::kernels::arm
