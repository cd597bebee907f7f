// AVX-512 with VNNI: what avx512 does, and products of bytes.

#include "kernels/tier.h"
#include "kernels/x86/linear_i8_vnni.h"

namespace signalbox::kernels {

void install_vnni(Table& table) {
  table.linear_i8 = body::linear_i8<x86::VnniBlocksI8>;
}

}  // namespace signalbox::kernels
