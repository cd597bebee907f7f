// The loop for kernels/peak.h, compiled with the flags of tier_avx512.cc.

#include "kernels/body/peak.h"

namespace signalbox::kernels {

int64_t peak_loop_avx512(int64_t steps, const float* in, float* out) {
  return body::peak_loop<xsimd::avx512bw>(steps, in, out);
}

}  // namespace signalbox::kernels
