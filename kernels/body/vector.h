#pragma once
// Vector helpers that all kernels use: a loop over an array with a tail, and reductions across
// lanes.

#include <cstdint>
#include <xsimd/xsimd.hpp>

namespace signalbox::kernels::body {

template <class Arch>
using Batch = xsimd::batch<float, Arch>;

template <class Arch>
inline constexpr int64_t kLanes = static_cast<int64_t>(Batch<Arch>::size);

/// Vector registers: 32 with AVX-512 and on arm64, 16 otherwise.
#if defined(__aarch64__)
template <class Arch>
inline constexpr int kRegisters = 32;
#else
template <class Arch>
inline constexpr int kRegisters = kLanes<Arch> == 16 ? 32 : 16;
#endif

/// Loads lanes [0, n) from p and sets the rest to `fill`. Requires 0 < n < lanes. Never reads past
/// p + n.
template <class Arch>
inline Batch<Arch> load_part(const float* p, int64_t n, float fill) {
  alignas(64) float lanes[kLanes<Arch>];
  for (int64_t i = 0; i < kLanes<Arch>; ++i) lanes[i] = i < n ? p[i] : fill;
  return Batch<Arch>::load_aligned(lanes);
}

template <class Arch>
inline void store_part(const Batch<Arch>& x, int64_t n, float* p) {
  alignas(64) float lanes[kLanes<Arch>];
  x.store_aligned(lanes);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

/// Loads lanes [0, part) from p + i and sets the rest to zero. store_at writes the same lanes.
template <class Arch>
inline Batch<Arch> load_at(const float* p, int64_t i, int64_t part) {
  return part == kLanes<Arch> ? Batch<Arch>::load_unaligned(p + i)
                              : load_part<Arch>(p + i, part, 0.0f);
}

template <class Arch>
inline void store_at(const Batch<Arch>& x, float* p, int64_t i, int64_t part) {
  if (part == kLanes<Arch>) {
    x.store_unaligned(p + i);
  } else {
    store_part<Arch>(x, part, p + i);
  }
}

/// Calls step(i, part) for each group of lanes in [0, n). `part` is the number of lanes, which is
/// smaller in the last group.
template <class Arch, class Step>
inline void for_lanes(int64_t n, const Step& step) {
  int64_t i = 0;
  for (; i + kLanes<Arch> <= n; i += kLanes<Arch>) step(i, kLanes<Arch>);
  if (i < n) step(i, n - i);
}

/// Returns the largest lane. The halving loop compiles to register operations.
template <class Arch>
[[gnu::always_inline]] inline float max_lane(const Batch<Arch>& x) {
  alignas(64) float lanes[kLanes<Arch>];
  x.store_aligned(lanes);
#pragma GCC unroll 4
  for (int64_t half = kLanes<Arch> / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < half; ++i)
      lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
  }
  return lanes[0];
}

}  // namespace signalbox::kernels::body
