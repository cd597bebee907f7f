// Eight lanes with fused multiply-add. Compiled with -mavx2 -mfma; runs only where both are there.

#include "kernels/body/install.h"
#include "kernels/tier.h"
#include "kernels/x86/linear_i8_avx2.h"

namespace signalbox::kernels {

void install_avx2(Table& table) {
  body::install<xsimd::fma3<xsimd::avx2>>(table);
  table.linear_i8 = body::linear_i8<x86::Avx2BlocksI8>;
}

}  // namespace signalbox::kernels
