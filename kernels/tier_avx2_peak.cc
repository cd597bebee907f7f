// The loop for kernels/peak.h, compiled with the flags of tier_avx2.cc.

#include "kernels/body/peak.h"

namespace signalbox::kernels {

int64_t peak_loop_avx2(int64_t steps, const float* in, float* out) {
  return body::peak_loop<xsimd::fma3<xsimd::avx2>>(steps, in, out);
}

}  // namespace signalbox::kernels
