// AVX-512 with VNNI and BF16: the vnni tier plus bfloat16 products.

#include "kernels/tier.h"
#include "kernels/x86/linear_bf16.h"

namespace signalbox::kernels {

void install_bf16(Table& table) {
  table.linear_bf16 = body::linear_bf16_dots<xsimd::avx512bw, x86::DotProductBF16>;
}

}  // namespace signalbox::kernels
