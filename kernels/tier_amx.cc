// AMX with tiles of bytes and of bfloat16: the vnni tier plus products on tiles. Dot products of
// single rows and attention keep the code of vnni.

#include "kernels/body/linear_bf16_dots.h"
#include "kernels/body/linear_i8.h"
#include "kernels/tier.h"
#include "kernels/x86/amx_tiles.h"

namespace signalbox::kernels {

void install_amx(Table& table) {
  using Arch = xsimd::avx512bw;
  table.linear_i8 = body::linear_i8<Arch, body::TileProduct<x86::AmxTiles, body::I8>>;
  table.linear_bf16 = body::linear_bf16_dots<Arch, body::TileProduct<x86::AmxTiles, body::BF16>>;
}

}  // namespace signalbox::kernels
