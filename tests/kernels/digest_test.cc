// The integer kernels give the same bits on every processor, of x86-64 and of arm64: one digest of
// their results over fixed inputs, for every tier.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "tests/kernels/cases.h"

namespace signalbox::kernels {
namespace {

// Computed by the base tier of x86-64 (SSE2).
constexpr uint64_t kQuantizeRows = 0x40F8CE66FCEF9EC4;
constexpr uint64_t kPackLinear = 0xEC97A1CEBBED6644;
constexpr uint64_t kLinearI8 = 0xA881B377D18AB9DC;
constexpr uint64_t kDotsI8 = 0x566A168BE26D025E;

// FNV-1a, 64 bits.
class Digest {
 public:
  template <class T>
  void add(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (size_t i = 0; i < values.size() * sizeof(T); ++i) {
      value_ = (value_ ^ bytes[i]) * 0x100000001B3u;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

// Multiples of 2^-16 in [-8, 8), made of integers because the library's distributions may differ.
std::vector<float> floats(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(static_cast<int>(random() >> 12) - (1 << 19)) / 65536;
  return out;
}

std::vector<uint8_t> bytes(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> out(n);
  for (uint8_t& x : out) x = static_cast<uint8_t>(1 + random() % 255);
  return out;
}

class Digests : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const auto table = table_of(GetParam());
    if (!table) GTEST_SKIP() << table.error().message;
    table_ = *table;
  }
  const Table* table_ = nullptr;
};

TEST_P(Digests, integer_products_are_the_same_on_every_processor) {
  Digest quantized, packs, products;
  for (const auto& [rows, in, out] : kLinearCases) {
    const auto x = floats(size_t{1} * rows * in, 1), w = floats(size_t{1} * out * in, 2);
    std::vector<uint8_t> q(rows * quantized_row_bytes(in));
    std::vector<float> scales(rows), y(size_t{1} * rows * out);
    std::vector<char> packed(packed_linear_bytes(Format::kI8, in, out));
    table_->quantize_rows(rows, in, x.data(), q.data(), scales.data());
    pack_linear(Format::kI8, in, out, w.data(), packed.data());
    table_->linear_i8({rows, in, out}, q.data(), scales.data(), packed.data(), {}, y.data());
    quantized.add(q);
    quantized.add(scales);
    packs.add(packed);
    products.add(y);
  }
  EXPECT_EQ(quantized.value(), kQuantizeRows);
  EXPECT_EQ(packs.value(), kPackLinear);
  EXPECT_EQ(products.value(), kLinearI8);
}

TEST_P(Digests, dot_products_are_the_same_on_every_processor) {
  Digest sums;
  for (const int32_t cols : {1, 15, 16, 63, 64, 100, 384, 1000}) {
    const auto q = bytes(cols, 3), others = bytes(size_t{7} * cols, 4);
    std::vector<const uint8_t*> rows;
    for (int32_t r = 0; r < 7; ++r) rows.push_back(&others[r * cols]);
    std::vector<int32_t> out(7);
    table_->dots_i8(7, cols, q.data(), rows.data(), out.data());
    sums.add(out);
  }
  EXPECT_EQ(sums.value(), kDotsI8);
}

INSTANTIATE_TEST_SUITE_P(Tiers, Digests,
                         testing::ValuesIn(tier_names().begin(), tier_names().end()),
                         [](const auto& tier) { return std::string(tier.param); });

}  // namespace
}  // namespace signalbox::kernels
