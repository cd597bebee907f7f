// The measured peak is plausible for a core: its loops run, and the compiler removes none. The
// benchmarks show that products stay below it; this is not timed here.

#include "kernels/peak.h"

#include <gtest/gtest.h>

#include <string>

namespace signalbox::kernels {
namespace {

class Peak : public testing::TestWithParam<std::string_view> {};

TEST_P(Peak, the_measured_peak_of_a_core_is_plausible) {
  const auto table = table_of(GetParam());
  if (!table) GTEST_SKIP() << table.error().message;
  for (const Factors factors : {Factors::kF32, Factors::kI8}) {
    const double peak = measured_peak_gflops(**table, factors);
    EXPECT_GT(peak, 0.01);
    EXPECT_LT(peak, 20'000);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, Peak, testing::ValuesIn(tier_names().begin(), tier_names().end()),
                         [](const auto& tier) { return std::string(tier.param); });

}  // namespace
}  // namespace signalbox::kernels
