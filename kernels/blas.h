#pragma once
// The adapter to OpenBLAS.

#include <cstdint>

namespace signalbox::kernels {

/// Table::linear_f32 by cblas_sgemm, on one thread: work is split outside, where the texts are
/// known.
void linear_f32_blas(int32_t rows, int32_t in, int32_t out, const float* x, const float* w,
                     float* y);

}  // namespace signalbox::kernels
