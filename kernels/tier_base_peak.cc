// The loop for kernels/peak.h, compiled with the flags of tier_base.cc.

#include "kernels/body/peak.h"

namespace signalbox::kernels {
namespace {

#if defined(__x86_64__)
using Arch = xsimd::sse2;
#else
using Arch = xsimd::default_arch;
#endif

}  // namespace

int64_t peak_loop_base(int64_t steps, const float* in, float* out) {
  return body::peak_loop<Arch>(steps, in, out);
}

}  // namespace signalbox::kernels
