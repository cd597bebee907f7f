// AVX-512 with VNNI: the avx512 tier plus exact integer products.

#include "kernels/peak_loop.h"
#include "kernels/tier.h"
#include "kernels/x86/dots_i16.h"
#include "kernels/x86/dots_i8_vnni.h"
#include "kernels/x86/linear_i8_vnni.h"
#include "kernels/x86/peak_i8_vnni.h"

namespace signalbox::kernels {

void install_vnni(Table& table) {
  using Arch = xsimd::avx512bw;
  table.linear_i8 = body::linear_i8_converted<Arch, x86::VnniProductI8>;
  table.attention_i16 = body::attention_i16<Arch, x86::Avx512DotsI16<x86::VnniDot>>;
  table.dots_i8 = body::dots_i8<x86::VnniDotsI8>;
}

int64_t peak_loop_i8_vnni(int64_t steps, const float* in, float* out) {
  return x86::peak_loop_i8_vnni(steps, in, out);
}

}  // namespace signalbox::kernels
