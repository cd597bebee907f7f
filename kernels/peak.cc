// Times the loop that is as wide as a table's tier.

#include "kernels/peak.h"

#include <algorithm>
#include <chrono>

#include "kernels/peak_loop.h"

namespace signalbox::kernels {
namespace {

// Tiers after avx512 add products of narrower numbers and are as wide in single precision.
PeakLoop loop_of(std::string_view tier) {
#if defined(__x86_64__)
  if (tier == "avx2") return peak_loop_avx2;
  if (tier != "base") return peak_loop_avx512;
#endif
  return peak_loop_base;
}

}  // namespace

double measured_peak_gflops(const Table& table) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kTime(
      30);                               // the clock under wide instructions settles in ten
  constexpr int64_t kSteps = 16 * 1024;  // a tenth of a millisecond: rarely interrupted
  const PeakLoop loop = loop_of(table.tier);
  const volatile float given[] = {0.5f, 1.0f};  // not known when compiled; the sums stay near 2
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
