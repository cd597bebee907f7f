// Eight lanes with fused multiply-add. Compiled with -mavx2 -mfma; runs only where both are there.

#include "kernels/body/install.h"
#include "kernels/tier.h"

namespace signalbox::kernels {

void install_avx2(Table& table) {
  body::install<xsimd::fma3<xsimd::avx2>>(table);
}

}  // namespace signalbox::kernels
