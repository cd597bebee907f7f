#pragma once
// Linear layers with bf16 weights on processors that multiply bfloat16: the activations are rounded
// to bfloat16, too.

#include "kernels/body/linear_float.h"
#include "kernels/body/narrow.h"

namespace signalbox::kernels::body {

/// Implements `linear_bf16` of the kernel table. Product takes both factors in bfloat16.
template <class Arch, class Product>
void linear_bf16_dots(const LinearShape& shape, const float* x, float* scratch, const void* packed,
                      const Epilogue& epilogue, float* y) {
  auto* narrow = reinterpret_cast<uint16_t*>(scratch);
  narrow_rows(shape.rows, shape.in, x, narrow);
  linear_float<Arch, Product>(shape, narrow, packed, epilogue, y);
}

}  // namespace signalbox::kernels::body
