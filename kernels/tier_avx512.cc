// Sixteen lanes. Compiled with the flags of AVX-512 F, CD, DQ and BW; runs only where all four are
// there.

#include "kernels/body/install.h"
#include "kernels/tier.h"

namespace signalbox::kernels {

void install_avx512(Table& table) {
  body::install<xsimd::avx512bw>(table);
}

}  // namespace signalbox::kernels
