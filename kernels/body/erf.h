#pragma once
// erf(x) as x times a polynomial of x squared: the exact form has two branches and a division, and
// all lanes pay for both. From 4 on it is 1 in single precision.

#include "kernels/body/vector.h"

namespace signalbox::kernels::body {

// Of erf(sqrt(s)) / sqrt(s) on [0, 16], in powers of u = s / 8 - 1, where they stay small: the
// interpolant at the 16 Chebyshev nodes. erf is met within 5e-8, then rounded.
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
  // Exactly 1 at the limit, or gelu of a large negative number would not be 0.
  return xsimd::select(xsimd::abs(v) < Batch<Arch>(kLimit), x * sum, x * Batch<Arch>(1 / kLimit));
}

}  // namespace signalbox::kernels::body
