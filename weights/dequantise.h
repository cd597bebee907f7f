#pragma once
// Converts integers with scales and zero points to floats, as defined by ONNX's DequantizeLinear:
// https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "weights/onnx_graph.h"

namespace signalbox::weights {

/// Computes (q - zero point) * scale for every element and returns F32 bytes. There is one scale,
/// or one for each index along `axis` (a negative axis counts from the end). `zero_point` holds one
/// zero point, or one per scale, or is nullptr. Returns kUnsupported unless the types are U8, I8 or
/// I32 with F32 scales, and for other shapes.
Result<std::vector<std::byte>> dequantise(const OnnxTensor& tensor, const OnnxTensor& scale,
                                          const OnnxTensor* zero_point, int64_t axis);

}  // namespace signalbox::weights
