// AMX with tiles of bytes and of bfloat16: the vnni tier plus products on tiles. Dot products of
// single rows and attention keep the code of vnni.

#include "kernels/body/linear_bf16_dots.h"
#include "kernels/body/linear_i8.h"
#include "kernels/peak_loop.h"
#include "kernels/tier.h"
#include "kernels/x86/amx_tiles.h"

namespace signalbox::kernels {

void install_amx(Table& table) {
  using Arch = xsimd::avx512bw;
  table.linear_i8 = body::linear_i8<Arch, body::TileProduct<x86::AmxTiles, body::I8>>;
  table.linear_bf16 = body::linear_bf16_dots<Arch, body::TileProduct<x86::AmxTiles, body::BF16>>;
}

int64_t peak_loop_i8_amx(int64_t steps, const float* in, float* out) {
  using Tiles = x86::AmxTiles;
  alignas(64) uint8_t bytes[body::kTileRows * body::kTileBytes];
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(in[1]);
  Tiles::configure(body::TileProduct<Tiles, body::I8>::shapes_of(32, body::kTileRows));
  Tiles::load<4>(bytes, body::kTileBytes);
  Tiles::load<5>(bytes, body::kTileBytes);
  Tiles::load<6>(bytes, body::kTileBytes);
  Tiles::load<7>(bytes, body::kTileBytes);
  for (int64_t step = 0; step < steps; ++step) {
    Tiles::multiply_i8<0, 4, 6>();
    Tiles::multiply_i8<1, 4, 7>();
    Tiles::multiply_i8<2, 5, 6>();
    Tiles::multiply_i8<3, 5, 7>();
  }
  alignas(64) int32_t sums[body::kTileRows * 16];
  Tiles::store<0>(sums, body::kTileBytes);
  Tiles::release();
  *out = static_cast<float>(sums[0]);
  return steps * 4 * body::kTileRows * 16 * body::kTileBytes;
}

}  // namespace signalbox::kernels
