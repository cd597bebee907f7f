// OpenBLAS behind one function; its headers stay here.

#include "kernels/blas.h"

#include <cblas.h>

namespace signalbox::kernels {

void linear_f32_blas(int32_t rows, int32_t in, int32_t out, const float* x, const float* w,
                     float* y) {
  static const bool single_threaded = (openblas_set_num_threads(1), true);
  static_cast<void>(single_threaded);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1.0f, x, in, w, in, 0.0f, y,
              out);
}

}  // namespace signalbox::kernels
