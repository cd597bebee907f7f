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

// The best of many runs, as the peak is.
double linear_gflops(const Table& table) {
  const std::vector<float> x(kRows * kSide, 0.5f), w(kSide * kSide, 0.25f);
  std::vector<float> packed(table.packed_linear_size(kSide, kSide)), y(kRows * kSide);
  table.pack_linear(kSide, kSide, w.data(), packed.data());
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    table.linear(kRows, kSide, kSide, x.data(), packed.data(), y.data());
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 2.0 * kRows * kSide * kSide / took.count());
  }
  return best;
}

class Peak : public testing::TestWithParam<std::string_view> {};

TEST_P(Peak, is_above_what_a_product_reaches) {
  const auto table = table_of(GetParam());
  if (!table) GTEST_SKIP() << table.error().message;
  const double reached = linear_gflops(**table);
  double peak = 0;
  // A neighbour may hold the core's other half for as long as one measurement takes.
  for (int i = 0; i < 20 && peak <= reached; ++i) peak = measured_peak_gflops(**table);
  EXPECT_GT(peak, reached);
}

INSTANTIATE_TEST_SUITE_P(Tiers, Peak, testing::ValuesIn(tier_names().begin(), tier_names().end()),
                         [](const auto& tier) { return std::string(tier.param); });

}  // namespace
}  // namespace signalbox::kernels
