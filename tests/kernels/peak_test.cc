// The measured peak is one: no product of matrices of the same tier is faster.

#include "kernels/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace signalbox::kernels {
namespace {

constexpr int32_t kRows = 96, kSide = 384;

// Operations a second in 1e9, of the best of many runs, as the peak is.
template <class Product>
double best_of(const Product& product) {
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    product();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * kRows * kSide * kSide / took.count());
  }
  return best;
}

double linear_gflops(const Table& table) {
  const std::vector<float> x(kRows * kSide, 0.5f), w(kSide * kSide, 0.25f);
  std::vector<float> packed(table.packed_linear_size(kSide, kSide)), y(kRows * kSide);
  table.pack_linear(kSide, kSide, w.data(), packed.data());
  return best_of([&] { table.linear(kRows, kSide, kSide, x.data(), packed.data(), y.data()); });
}

double linear_i8_gops(const Table& table) {
  const std::vector<float> x(kRows * kSide, 0.5f), scales(kSide, 1.0f);
  const std::vector<int8_t> w(kSide * kSide, 3);
  std::vector<char> packed(packed_linear_i8_bytes(kSide, kSide));
  pack_linear_i8(kSide, kSide, w.data(), scales.data(), packed.data());
  std::vector<uint8_t> q(kRows * quantized_row_bytes(kSide));
  std::vector<float> row_scales(kRows), y(kRows * kSide);
  table.quantize_rows(kRows, kSide, x.data(), q.data(), row_scales.data());
  return best_of([&] {
    table.linear_i8(kRows, kSide, kSide, q.data(), row_scales.data(), packed.data(), y.data());
  });
}

void expect_above(double reached, const Table& table, Factors factors) {
  double peak = 0;
  // A neighbour may hold the core's other half for as long as one measurement takes.
  for (int i = 0; i < 20 && peak <= reached; ++i) peak = measured_peak_gflops(table, factors);
  EXPECT_GT(peak, reached);
}

class Peak : public testing::TestWithParam<std::string_view> {};

TEST_P(Peak, is_above_what_a_product_reaches) {
  const auto table = table_of(GetParam());
  if (!table) GTEST_SKIP() << table.error().message;
  expect_above(linear_gflops(**table), **table, Factors::kF32);
}

INSTANTIATE_TEST_SUITE_P(Tiers, Peak, testing::ValuesIn(tier_names().begin(), tier_names().end()),
                         [](const auto& tier) { return std::string(tier.param); });

TEST(PeakOfBytes, is_above_what_a_product_reaches) {
  const auto table = table_of("vnni");
  if (!table) GTEST_SKIP() << table.error().message;
  expect_above(linear_i8_gops(**table), **table, Factors::kI8);
}

}  // namespace
}  // namespace signalbox::kernels
