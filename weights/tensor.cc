// Names and sizes of the element types.

#include "weights/tensor.h"

#include <array>
#include <utility>

namespace signalbox::weights {
namespace {

struct DtypeFacts {
  std::string_view name;
  size_t bytes;
};

// In the order of Dtype.
constexpr std::array<DtypeFacts, 10> kDtypes = {{{"F64", 8},
                                                 {"F32", 4},
                                                 {"F16", 2},
                                                 {"BF16", 2},
                                                 {"I64", 8},
                                                 {"I32", 4},
                                                 {"I16", 2},
                                                 {"I8", 1},
                                                 {"U8", 1},
                                                 {"BOOL", 1}}};

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  return kDtypes[static_cast<size_t>(dtype)].name;
}
size_t dtype_bytes(Dtype dtype) {
  return kDtypes[static_cast<size_t>(dtype)].bytes;
}

Result<Dtype> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  }
  return fail(Code::kUnsupported, "unknown dtype \"{}\"", name);
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (const int64_t extent : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(extent);
  return out + "]";
}

Result<int64_t> shape_elements(std::span<const int64_t> shape) {
  if (shape.size() > kRankMax) {
    return fail(Code::kCorrupt, "shape: more than {} dimensions", kRankMax);
  }
  int64_t n = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) return fail(Code::kCorrupt, "shape: expected at least 0, found {}", extent);
    if (__builtin_mul_overflow(n, extent, &n)) {
      return fail(Code::kCorrupt, "shape {} has more elements than fit", shape_text(shape));
    }
  }
  return n;
}

Result<uint64_t> shape_bytes(Dtype dtype, std::span<const int64_t> shape) {
  SIGNALBOX_TRY(const int64_t n, shape_elements(shape));
  const auto element = static_cast<int64_t>(dtype_bytes(dtype));
  if (n > INT64_MAX / element) {
    return fail(Code::kCorrupt, "shape {} has more elements than fit", shape_text(shape));
  }
  return static_cast<uint64_t>(n * element);
}

int64_t Tensor::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

}  // namespace signalbox::weights
