#pragma once
// The tile registers of Intel's AMX for kernels/body/tile_product.h. The instructions are written
// out, because the compiler's intrinsics are macros that need a literal number of a tile.

#include <cstdint>

#include "kernels/body/tile_product.h"

namespace signalbox::kernels::x86 {

struct AmxTiles {
  [[gnu::always_inline]] static void configure(const body::TileShapes& shapes) {
    asm volatile("ldtilecfg %0" ::"m"(shapes));
  }
  [[gnu::always_inline]] static void release() { asm volatile("tilerelease" ::); }

  template <int kTile>
  [[gnu::always_inline]] static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  template <int kTile>
  [[gnu::always_inline]] static void load(const void* base, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(base), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  [[gnu::always_inline]] static void store(void* base, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(base), "r"(stride), "i"(kTile) : "memory");
  }
  /// sums (rows, 16) += x (rows, 4 k) unsigned times w (k, 16, 4) signed.
  template <int kSums, int kX, int kW>
  [[gnu::always_inline]] static void multiply_i8() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kX), "i"(kW));
  }
  /// sums (rows, 16) += x (rows, 2 k) times w (k, 16, 2), all of bfloat16.
  template <int kSums, int kX, int kW>
  [[gnu::always_inline]] static void multiply_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kX), "i"(kW));
  }
};

}  // namespace signalbox::kernels::x86
