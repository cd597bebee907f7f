#pragma once
// erf(x) as x times a polynomial in x squared. The exact form has two branches and a division, and
// every lane would pay for both. For x >= 4, erf(x) is 1 in single precision.

#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

// Coefficients of erf(sqrt(s)) / sqrt(s) on [0, 16], in powers of u = s / 8 - 1, which keeps them
// small. They interpolate at the 16 Chebyshev nodes. The error of erf is below 5e-8 before
// rounding.
inline constexpr float kErfPowers[] = {
    3.535309789e-01f, -1.765762266e-01f, 1.316772602e-01f, -1.077113031e-01f,
    9.016426084e-02f, -7.470989577e-02f, 6.024049967e-02f, -4.590729043e-02f,
    3.169913365e-02f, -2.192523332e-02f, 1.715935742e-02f, -9.740832586e-03f,
    1.721844679e-03f, -1.307657976e-03f, 2.996226508e-03f, -1.311137882e-03f,
};

template <class Arch>
inline Batch<Arch> erf_of(const Batch<Arch>& v) {
  constexpr int kPowers = sizeof kErfPowers / sizeof *kErfPowers;
  constexpr float kLimit = 4.0f;
  const Batch<Arch> x = xsimd::min(xsimd::max(v, Batch<Arch>(-kLimit)), Batch<Arch>(kLimit));
  const Batch<Arch> u = xsimd::fma(x * x, Batch<Arch>(0.125f), Batch<Arch>(-1.0f));
  Batch<Arch> sum(kErfPowers[kPowers - 1]);
#pragma GCC unroll 16
  for (int i = kPowers - 2; i >= 0; --i) sum = xsimd::fma(sum, u, Batch<Arch>(kErfPowers[i]));
  // The value must be exactly 1 at the limit. Otherwise gelu of a large negative number would not
  // be 0.
  return xsimd::select(xsimd::abs(v) < Batch<Arch>(kLimit), x * sum, x * Batch<Arch>(1 / kLimit));
}

}  // namespace signalbox::kernels::body
