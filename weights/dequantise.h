#pragma once
// Integers with scales and zero points to floats, as ONNX's DequantizeLinear defines them:
// https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "weights/onnx_graph.h"

namespace signalbox::weights {

/// (q - zero point) scale for every element, as F32 in memory. There is one scale, or one for each
/// index along `axis`, which counts from the end when it is negative; one zero point, or one a
/// scale, or none: nullptr. kUnsupported for other types than U8, I8 and I32 with F32 scales, and
/// for other shapes.
Result<std::vector<std::byte>> dequantise(const OnnxTensor& tensor, const OnnxTensor& scale,
                                          const OnnxTensor* zero_point, int64_t axis);

}  // namespace signalbox::weights
