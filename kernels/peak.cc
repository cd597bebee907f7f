// Times the peak loop of a table's tier.

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
  if (tier == "amx" && factors == Factors::kI8) return peak_loop_i8_amx;
  // The tiers after avx512 add products of narrower numbers and have the same width in single
  // precision.
  if (tier != "base") return factors == Factors::kI8 ? peak_loop_i8_vnni : peak_loop_avx512;
#elif defined(__aarch64__)
  if (tier == "neon" && factors == Factors::kI8) return peak_loop_i8_neon;
  if (tier != "base" && factors == Factors::kI8) return peak_loop_i8_i8mm;
#endif
  return peak_loop_base;
}

}  // namespace

double measured_peak_gflops(const Table& table, Factors factors) {
  using Clock = std::chrono::steady_clock;
  // The clock rate under wide instructions settles within ten milliseconds, and a run is rarely
  // interrupted.
  constexpr std::chrono::milliseconds kTime(30);
  constexpr int64_t kSteps = 16 * 1024;  // about 0.1 ms
  const PeakLoop loop = loop_of(table.tier, factors);
  // The compiler must not know these values. Sums of floats stay near 2.
  const volatile float given[] = {0.5f, 1.0f};
  const float in[] = {given[0], given[1]};
  volatile float kept = 0;  // prevents the compiler from removing a run
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
