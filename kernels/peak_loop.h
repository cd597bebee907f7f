#pragma once
// The loops used by kernels/peak.h.

#include <cstdint>

namespace signalbox::kernels {

/// Runs `steps` rounds of sum = sum * in[0] + in[1] on enough registers to keep the core busy.
/// Writes a value that depends on all sums to `out` and returns the number of multiply-adds. in
/// (2), out (1).
using PeakLoop = int64_t (*)(int64_t steps, const float* in, float* out);

int64_t peak_loop_base(int64_t steps, const float* in, float* out);
int64_t peak_loop_avx2(int64_t steps, const float* in, float* out);
int64_t peak_loop_avx512(int64_t steps, const float* in, float* out);

/// PeakLoops on bytes: sum + in[1] * in[1].
int64_t peak_loop_i8_vnni(int64_t steps, const float* in, float* out);
int64_t peak_loop_i8_amx(int64_t steps, const float* in, float* out);
int64_t peak_loop_i8_neon(int64_t steps, const float* in, float* out);
int64_t peak_loop_i8_i8mm(int64_t steps, const float* in, float* out);

}  // namespace signalbox::kernels
