#pragma once
// Ends the use of wide registers by code that was not compiled here.

#include <immintrin.h>

namespace signalbox::kernels::x86 {

/// Clears the upper halves of the registers. Requires AVX.
[[gnu::target("avx"), gnu::noinline]] inline void clear_upper() {
  _mm256_zeroupper();
}

}  // namespace signalbox::kernels::x86
