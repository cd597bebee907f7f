// The i8mm tier plus the matrix product of bfloat16.

#include "kernels/arm/linear_bf16.h"
#include "kernels/tier.h"

namespace signalbox::kernels {

void install_bf16(Table& table) {
  table.linear_bf16 = body::linear_bf16_dots<xsimd::neon64, arm::MatrixProductBF16>;
}

}  // namespace signalbox::kernels
