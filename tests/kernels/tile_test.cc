// The products on tiles (tier amx) on every processor: the same source over a model of the tile
// instructions, and on x86-64 also the machine code of the tier, whose tile instructions a signal
// handler carries out on the model.

#include "tests/kernels/tile_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/body/linear_bf16_dots.h"
#include "kernels/body/linear_i8.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/guarded.h"
#if defined(__x86_64__)
#include "tests/kernels/tile_trap.h"
#endif

namespace signalbox::kernels {
namespace {

#if defined(__x86_64__)
using Arch = xsimd::sse2;
#else
using Arch = xsimd::default_arch;
#endif

TileModel tiles;

struct ModelTiles {
  static void configure(const body::TileShapes& shapes) { tiles.configure(shapes); }
  static void release() { tiles.release(); }
  template <int kTile>
  static void zero() {
    tiles.zero(kTile);
  }
  template <int kTile>
  static void load(const void* base, int64_t stride) {
    tiles.load(kTile, base, stride);
  }
  template <int kTile>
  static void store(void* base, int64_t stride) {
    tiles.store(kTile, base, stride);
  }
  template <int kSums, int kX, int kW>
  static void multiply_i8() {
    tiles.multiply_i8(kSums, kX, kW);
  }
  template <int kSums, int kX, int kW>
  static void multiply_bf16() {
    tiles.multiply_bf16(kSums, kX, kW);
  }
};

// Row counts of one and two tiles and their edges; steps of whole tiles, of parts, and of several
// blocks.
constexpr LinearCase kTileCases[] = {{1, 1, 2},     {2, 64, 64},   {15, 60, 70},  {16, 68, 128},
                                     {17, 100, 34}, {31, 384, 64}, {32, 392, 66}, {33, 130, 64},
                                     {50, 31, 96},  {5, 1536, 32}, {97, 385, 40}};

std::vector<float> floats(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> out(n);
  for (float& x : out) x = distribution(random);
  return out;
}

// Compares products over Tiles with those of the base tier.
template <class Tiles>
void expect_products_of_the_base_tier() {
  const Table& base = **table_of("base");
  for (const auto& [rows, in, out] : kTileCases) {
    SCOPED_TRACE(testing::Message() << rows << " " << in << " " << out);
    const LinearShape shape{rows, in, out};
    const auto w = floats(size_t{1} * out * in, 2);
    Guarded<float> x(floats(size_t{1} * rows * in, 1)), scales(rows);
    Guarded<uint8_t> q(rows * quantized_row_bytes(in));
    base.quantize_rows(rows, in, x.data(), q.data(), scales.data());

    Guarded<char> bytes(packed_linear_bytes(Format::kI8, in, out));
    pack_linear(Format::kI8, in, out, w.data(), bytes.data());
    Guarded<float> expected(rows * out), found(rows * out);
    base.linear_i8(shape, q.data(), scales.data(), bytes.data(), {}, expected.data());
    body::linear_i8<Arch, body::TileProduct<Tiles, body::I8>>(shape, q.data(), scales.data(),
                                                              bytes.data(), {}, found.data());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), rows * out * sizeof(float)), 0);

    Guarded<char> halves(packed_linear_bytes(Format::kBF16, in, out));
    pack_linear(Format::kBF16, in, out, w.data(), halves.data());
    Guarded<float> scratch(bf16_scratch(shape));
    for (int64_t i = 0; i < int64_t{1} * rows * in; ++i) {
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(body::narrow(x[i])) << 16);
    }
    base.linear_bf16(shape, x.data(), scratch.data(), halves.data(), {}, expected.data());
    body::linear_bf16_dots<Arch, body::TileProduct<Tiles, body::BF16>>(
        shape, x.data(), scratch.data(), halves.data(), {}, found.data());
    for (int64_t i = 0; i < int64_t{1} * rows * out; ++i) {
      ASSERT_NEAR(found[i], expected[i], 4 * linear_bound(in) * (1 + std::abs(expected[i]))) << i;
    }
  }
  EXPECT_EQ(tiles.faults(), 0);
  EXPECT_FALSE(tiles.is_configured());
}

TEST(Tiles, the_model_multiplies_like_the_base_tier) {
  tiles = {};
  expect_products_of_the_base_tier<ModelTiles>();
}

#if defined(__x86_64__)
TEST(Tiles, machine_code_of_the_amx_tier_multiplies_like_the_base_tier) {
  tiles = {};
  const TileTrap trap(tiles);
  if (!trap.catches()) GTEST_SKIP() << "this processor runs the instructions itself";
  expect_products_of_the_base_tier<x86::AmxTiles>();
  EXPECT_GT(trap.count(), 1000);
}
#endif

TEST(Tiles, a_row_does_not_depend_on_the_number_of_rows) {
  tiles = {};
  const int32_t rows = 45, in = 205, out = 64;
  const auto x = floats(rows * in, 3), w = floats(out * in, 4);
  std::vector<char> packed(packed_linear_bytes(Format::kBF16, in, out));
  pack_linear(Format::kBF16, in, out, w.data(), packed.data());
  const auto product = [&](int32_t first, int32_t count) {
    std::vector<float> scratch(bf16_scratch({count, in, out})), y(count * out);
    body::linear_bf16_dots<Arch, body::TileProduct<ModelTiles, body::BF16>>(
        {count, in, out}, &x[first * in], scratch.data(), packed.data(), {}, y.data());
    return y;
  };
  const auto all = product(0, rows);
  for (const int32_t count : {1, 2, 15, 16, 17, 32, 33}) {
    const auto part = product(7, count);
    EXPECT_EQ(std::memcmp(part.data(), &all[7 * out], part.size() * sizeof(float)), 0) << count;
  }
}

// The test above can fail only if the model refuses what the processor would refuse.
TEST(Tiles, the_model_refuses_shapes_that_do_not_fit) {
  TileModel model;
  model.zero(0);  // before any configuration
  EXPECT_EQ(model.faults(), 1);
  body::TileShapes shapes;
  const auto set = [&](int tile, uint8_t rows, uint16_t bytes) {
    shapes.rows[tile] = rows;
    shapes.row_bytes[tile] = bytes;
  };
  set(0, 3, 8);  // (3, 2) sums
  set(1, 3, 12);
  set(2, 3, 8);
  set(3, 2, 12);
  model.configure(shapes);
  EXPECT_EQ(model.faults(), 1);
  model.multiply_i8(0, 1, 2);
  EXPECT_EQ(model.faults(), 1);
  model.multiply_i8(0, 3, 2);  // two rows for three sums
  model.multiply_i8(0, 1, 1);  // one tile as both factors
  model.multiply_bf16(0, 1, 3);
  model.zero(4);  // a tile without a shape
  EXPECT_EQ(model.faults(), 5);
  set(1, 17, 12);
  model.configure(shapes);
  EXPECT_EQ(model.faults(), 6);
  EXPECT_FALSE(model.is_configured());
}

}  // namespace
}  // namespace signalbox::kernels
