// The byte loop for kernels/peak.h, compiled with the flags of tier_vnni.cc.

#include "kernels/peak_loop.h"
#include "kernels/x86/peak_i8_vnni.h"

namespace signalbox::kernels {

int64_t peak_loop_i8_vnni(int64_t steps, const float* in, float* out) {
  return x86::peak_loop_i8_vnni(steps, in, out);
}

}  // namespace signalbox::kernels
