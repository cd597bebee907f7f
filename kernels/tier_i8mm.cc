// The neon tier plus the matrix product of bytes.

#include "kernels/arm/linear_i8_matrix.h"
#include "kernels/tier.h"

namespace signalbox::kernels {

void install_i8mm(Table& table) {
  table.linear_i8 = body::linear_i8<xsimd::neon64, arm::MatrixProductI8>;
}

}  // namespace signalbox::kernels
