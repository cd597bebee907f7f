// Sixteen lanes. Compiled with the flags for AVX-512 F, CD, DQ and BW; runs only on processors with
// all four. Byte products use the avx2 code, because sixteen lanes gain nothing without VNNI.

#include "kernels/body/install.h"
#include "kernels/body/peak.h"
#include "kernels/tier.h"
#include "kernels/x86/dots_i16.h"

namespace signalbox::kernels {

void install_avx512(Table& table) {
  using Arch = xsimd::avx512bw;
  body::install<Arch>(table);
  table.attention_i16 = body::attention_i16<Arch, x86::Avx512DotsI16<x86::PlainDot>>;
}

int64_t peak_loop_avx512(int64_t steps, const float* in, float* out) {
  return body::peak_loop<xsimd::avx512bw>(steps, in, out);
}

}  // namespace signalbox::kernels
