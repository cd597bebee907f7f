#pragma once
// Linear layers in single precision whose sums come from OpenBLAS (kernels/openblas.h). The
// operations after the sums are those of the tier.

#include "kernels/body/finish.h"
#include "kernels/openblas.h"

namespace signalbox::kernels::body {

/// Implements `linear_f32_openblas` of the kernel table.
template <class Arch>
void linear_f32_openblas(const LinearShape& shape, const float* x, const void* packed,
                         const Epilogue& epilogue, float* y) {
  const OpenBlasTurn turn;
  const bool gated = is_gated(epilogue.finish);
  const int64_t width = gated ? shape.out / 2 : shape.out;
  alignas(64) float sums[kOpenBlasRows * kPanelColumns];  // (rows, 64)
  for (int64_t p = 0; p < panels_of(shape.out, gated); ++p) {
    const Panel<F32> panel(packed, shape.in, p);
    const auto* weights = reinterpret_cast<const float*>(panel.steps);  // (in, 64)
    for (int64_t top = 0; top < shape.rows; top += kOpenBlasRows) {
      const int64_t rows = shape.rows - top < kOpenBlasRows ? shape.rows - top : kOpenBlasRows;
      openblas_block(rows, shape.in, x + top * shape.in, weights, sums);
      finish_rows<Arch>(epilogue, p, top, rows, width, y + top * width,
                        [&](int64_t r) { return sums + r * kPanelColumns; });
    }
  }
}

}  // namespace signalbox::kernels::body
