#pragma once
// A tensor in a weights file: name, type, shape and bytes. It is a view; the file owns the bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::weights {

enum class Dtype : uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU8, kBool };

/// Returns safetensors' name of the type, such as "F32".
std::string_view dtype_name(Dtype dtype);
Result<Dtype> parse_dtype(std::string_view name);
size_t dtype_bytes(Dtype dtype);

using Shape = std::vector<int64_t>;

/// Returns text such as "[30522, 384]".
std::string shape_text(std::span<const int64_t> shape);

/// No supported format needs more dimensions.
constexpr size_t kRankMax = 8;

/// Return the number of elements of a shape, and the bytes that they occupy. kCorrupt above
/// kRankMax dimensions, for a negative extent, and if the number exceeds 63 bits.
Result<int64_t> shape_elements(std::span<const int64_t> shape);
Result<uint64_t> shape_bytes(Dtype dtype, std::span<const int64_t> shape);

struct Tensor {
  std::string_view name;
  Dtype dtype = Dtype::kF32;
  std::span<const int64_t> shape;
  // (shape) of dtype, row-major, little-endian, not necessarily aligned
  std::span<const std::byte> bytes;

  int64_t size() const;  // number of elements
};

}  // namespace signalbox::weights
