// Element i uses scale number i / run % scales, where `run` consecutive elements share one scale.

#include "weights/dequantise.h"

#include <algorithm>
#include <cstring>

namespace signalbox::weights {
namespace {

bool is_integer(Dtype dtype) {
  return dtype == Dtype::kU8 || dtype == Dtype::kI8 || dtype == Dtype::kI32;
}

int32_t integer_at(const OnnxTensor& tensor, size_t i) {
  const std::byte* at = tensor.bytes.data() + i * dtype_bytes(tensor.dtype);
  if (tensor.dtype == Dtype::kU8) return static_cast<uint8_t>(*at);
  if (tensor.dtype == Dtype::kI8) return static_cast<int8_t>(*at);
  int32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

Result<size_t> run_of(const OnnxTensor& tensor, size_t scales, int64_t axis) {
  const auto rank = static_cast<int64_t>(tensor.shape.size());
  if (scales == 1) return 1;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || scales == 0 ||
      tensor.shape[axis] != static_cast<int64_t>(scales)) {
    return fail(Code::kUnsupported, "{} scales along axis {} of {} are not supported", scales, axis,
                shape_text(tensor.shape));
  }
  size_t run = 1;
  for (int64_t i = axis + 1; i < rank; ++i) run *= tensor.shape[i];
  return std::max<size_t>(run, 1);  // a tensor without elements has run 0
}

}  // namespace

Result<std::vector<std::byte>> dequantise(const OnnxTensor& tensor, const OnnxTensor& scale,
                                          const OnnxTensor* zero_point, int64_t axis) {
  if (!is_integer(tensor.dtype) || scale.dtype != Dtype::kF32 ||
      (zero_point != nullptr && zero_point->dtype != tensor.dtype)) {
    return fail(Code::kUnsupported, "{} with a scale of {} is not supported",
                dtype_name(tensor.dtype), dtype_name(scale.dtype));
  }
  const size_t scales = scale.bytes.size() / sizeof(float);
  SIGNALBOX_TRY(const size_t run, run_of(tensor, scales, axis));
  const size_t zeros =
      zero_point == nullptr ? 1 : zero_point->bytes.size() / dtype_bytes(zero_point->dtype);
  if (zeros != 1 && zeros != scales) {
    return fail(Code::kUnsupported, "{} scales with {} zero points are not supported", scales,
                zeros);
  }
  const size_t n = tensor.bytes.size() / dtype_bytes(tensor.dtype);
  std::vector<std::byte> out(n * sizeof(float));
  for (size_t i = 0; i < n; ++i) {
    const size_t k = i / run % scales;
    float s = 0;
    std::memcpy(&s, scale.bytes.data() + k * sizeof s, sizeof s);
    const int64_t zero = zero_point == nullptr ? 0 : integer_at(*zero_point, zeros == 1 ? 0 : k);
    const float x = static_cast<float>(integer_at(tensor, i) - zero) * s;
    std::memcpy(out.data() + i * sizeof x, &x, sizeof x);
  }
  return out;
}

}  // namespace signalbox::weights
