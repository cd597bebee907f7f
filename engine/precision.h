#pragma once
// Maps the public precisions to kernel formats.

#include "engine/engine.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

inline kernels::Format format_of(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return kernels::Format::kF32;
    case Precision::kBF16:
      return kernels::Format::kBF16;
    case Precision::kI8:
      return kernels::Format::kI8;
  }
  return kernels::Format::kF32;
}

}  // namespace signalbox::engine
