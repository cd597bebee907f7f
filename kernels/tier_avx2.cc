// Eight lanes with fused multiply-add. Compiled with -mavx2 -mfma; runs only on processors with
// both.

#include "kernels/body/install.h"
#include "kernels/body/peak.h"
#include "kernels/tier.h"
#include "kernels/x86/dots_i16.h"
#include "kernels/x86/dots_i8_avx2.h"
#include "kernels/x86/linear_i8_avx2.h"

namespace signalbox::kernels {

void install_avx2(Table& table) {
  using Arch = xsimd::fma3<xsimd::avx2>;
  body::install<Arch>(table);
  table.linear_i8 = body::linear_i8<Arch, x86::Avx2ProductI8>;
  table.attention_i16 = body::attention_i16<Arch, x86::Avx2DotsI16>;
  table.dots_i8 = body::dots_i8<x86::Avx2DotsI8>;
}

int64_t peak_loop_avx2(int64_t steps, const float* in, float* out) {
  return body::peak_loop<xsimd::fma3<xsimd::avx2>>(steps, in, out);
}

}  // namespace signalbox::kernels
