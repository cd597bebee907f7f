// Times the loop of a table's tier.

#include "kernels/peak.h"

#include <algorithm>
#include <chrono>

#include "kernels/peak_loop.h"

namespace signalbox::kernels {
namespace {

PeakLoop loop_of([[maybe_unused]] std::string_view tier, [[maybe_unused]] Factors factors) {
#if defined(__x86_64__)
  if (tier == "avx2") return peak_loop_avx2;
  if (tier == "avx512") return peak_loop_avx512;
  // Tiers after avx512 add products of narrower numbers and are as wide in single precision.
  if (tier != "base") return factors == Factors::kI8 ? peak_loop_i8_vnni : peak_loop_avx512;
#endif
  return peak_loop_base;
}

}  // namespace

double measured_peak_gflops(const Table& table, Factors factors) {
  using Clock = std::chrono::steady_clock;
  // The clock under wide instructions settles in ten milliseconds; a run is rarely interrupted.
  constexpr std::chrono::milliseconds kTime(30);
  constexpr int64_t kSteps = 16 * 1024;  // a tenth of a millisecond
  const PeakLoop loop = loop_of(table.tier, factors);
  // Not known when compiled; sums of floats stay near 2.
  const volatile float given[] = {0.5f, 1.0f};
  const float in[] = {given[0], given[1]};
  volatile float kept = 0;  // so that no run is left out
  double best = 0;
  for (const auto end = Clock::now() + kTime; Clock::now() < end;) {
    float out = 0;
    const auto begin = Clock::now();
    const int64_t multiply_adds = loop(kSteps, in, &out);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    kept = out;
    best = std::max(best, 2.0 * static_cast<double>(multiply_adds) / took.count());
  }
  static_cast<void>(kept);
  return best;
}

}  // namespace signalbox::kernels
