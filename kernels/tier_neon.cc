// NEON with the dot product of bytes. Single precision needs no more than the base tier.

#include "kernels/arm/dots_i16.h"
#include "kernels/arm/dots_i8.h"
#include "kernels/arm/linear_i8_dot.h"
#include "kernels/tier.h"

namespace signalbox::kernels {

void install_neon(Table& table) {
  using Arch = xsimd::neon64;
  table.linear_i8 = body::linear_i8<Arch, arm::DotProductI8>;
  table.attention_i16 = body::attention_i16<Arch, arm::DotsI16>;
  table.dots_i8 = body::dots_i8<arm::DotsI8>;
}

}  // namespace signalbox::kernels
