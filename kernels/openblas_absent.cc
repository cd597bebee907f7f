// Stands in for OpenBLAS in a program without it.

#include "kernels/openblas.h"

namespace signalbox::kernels {

Result<void> load_openblas() {
  return fail(Code::kUnsupported,
              "OpenBLAS: this program was built without it (SIGNALBOX_OPENBLAS)");
}

OpenBlasTurn::OpenBlasTurn() = default;

OpenBlasTurn::~OpenBlasTurn() = default;

void openblas_block(int64_t, int64_t, const float*, const float*, float*) {
  constexpr bool is_loaded = false;
  SIGNALBOX_CHECK(is_loaded);
}

}  // namespace signalbox::kernels
