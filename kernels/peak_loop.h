#pragma once
// The loops behind kernels/peak.h.

#include <cstdint>

namespace signalbox::kernels {

/// Runs `steps` rounds of sum = sum * in[0] + in[1] on as many registers as it takes to keep the
/// core busy, writes to `out` what depends on all of them, and returns how many multiply-adds that
/// was. in (2), out (1).
using PeakLoop = int64_t (*)(int64_t steps, const float* in, float* out);

int64_t peak_loop_base(int64_t steps, const float* in, float* out);
int64_t peak_loop_avx2(int64_t steps, const float* in, float* out);
int64_t peak_loop_avx512(int64_t steps, const float* in, float* out);

/// The same with bytes: sum + in[1] * in[1].
int64_t peak_loop_i8_vnni(int64_t steps, const float* in, float* out);

}  // namespace signalbox::kernels
