#pragma once
// Products in single precision by OpenBLAS, which is loaded while the program runs: loading it
// takes 12 ms, and most processors never use it. The packed panels of kF32 are matrices as BLAS
// reads them, so the weights exist once.
//
// A row's result must not depend on its batch, but OpenBLAS chooses among its kernels by the shape.
// Therefore every call has the same shape: kOpenBlasRows rows, padded if there are fewer, in the
// dimension whose elements are the lanes of a vector. In the other dimension its kernels for
// Haswell sum every second group of rows in another order.

#include <cstdint>

#include "base/error.h"

namespace signalbox::kernels {

/// Rows of one call: the lanes of the widest registers.
inline constexpr int64_t kOpenBlasRows = 16;

/// Loads the library at the first call. The environment and the processors of the process stay as
/// they are. kUnsupported if this program was built without it, if it is not installed, if it would
/// start threads or is a variant that threads may not share, if its buffers cannot be mapped, or if
/// its results for a row depend on the place of the row. Thread-safe.
Result<void> load_openblas();

/// Exists while a thread multiplies. The constructor waits until fewer turns exist than OpenBLAS
/// has buffers. It has at most one for each processor. Requires that load_openblas() succeeded.
/// Thread-safe.
class OpenBlasTurn {
 public:
  OpenBlasTurn();
  ~OpenBlasTurn();
  OpenBlasTurn(const OpenBlasTurn&) = delete;
  OpenBlasTurn& operator=(const OpenBlasTurn&) = delete;
};

/// sums (rows, 64) = x (rows, in) times one packed panel (in, 64) of kF32, for 1 <= rows <=
/// kOpenBlasRows. Requires that this thread has an OpenBlasTurn. Thread-safe.
void openblas_block(int64_t rows, int64_t in, const float* x, const float* panel, float* sums);

}  // namespace signalbox::kernels
