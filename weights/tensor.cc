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
constexpr std::array<DtypeFacts, 10> kFacts = {{{"F64", 8},
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
  return kFacts[static_cast<size_t>(dtype)].name;
}
size_t dtype_bytes(Dtype dtype) {
  return kFacts[static_cast<size_t>(dtype)].bytes;
}

Result<Dtype> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].name == name) return static_cast<Dtype>(i);
  }
  return fail(Code::kUnsupported, "unknown dtype \"{}\"", name);
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (const int64_t extent : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(extent);
  return out + "]";
}

int64_t Tensor::size() const {
  int64_t n = 1;
  for (const int64_t extent : shape) n *= extent;
  return n;
}

}  // namespace signalbox::weights
