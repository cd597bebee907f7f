// A block holds 32 numbers: a scale d in half precision, a minimum m for some types, the fifth bits
// for five-bit types, then the numbers. Four-bit numbers are stored in pairs: number j in the low
// half of byte j, number j + 16 in the high half.

#include "weights/ggml_blocks.h"

#include <array>
#include <cstring>
#include <string_view>

#include "kernels/kernels.h"

namespace signalbox::weights {
namespace {

constexpr size_t kBlockNumbers = 32;
constexpr size_t kHalf = 16;

struct BlockType {
  std::string_view name;
  size_t block = 0;  // numbers per block; 0: not supported
  size_t bytes = 0;  // bytes per block
};

// In the order of ggml_type.
constexpr std::array<BlockType, 31> kBlockTypes = {{{"F32", 1, 4},
                                                    {"F16", 1, 2},
                                                    {"Q4_0", kBlockNumbers, 18},
                                                    {"Q4_1", kBlockNumbers, 20},
                                                    {"Q4_2"},
                                                    {"Q4_3"},
                                                    {"Q5_0", kBlockNumbers, 22},
                                                    {"Q5_1", kBlockNumbers, 24},
                                                    {"Q8_0", kBlockNumbers, 34},
                                                    {"Q8_1"},
                                                    {"Q2_K"},
                                                    {"Q3_K"},
                                                    {"Q4_K"},
                                                    {"Q5_K"},
                                                    {"Q6_K"},
                                                    {"Q8_K"},
                                                    {"IQ2_XXS"},
                                                    {"IQ2_XS"},
                                                    {"IQ3_XXS"},
                                                    {"IQ1_S"},
                                                    {"IQ4_NL"},
                                                    {"IQ3_S"},
                                                    {"IQ2_S"},
                                                    {"IQ4_XS"},
                                                    {"I8"},
                                                    {"I16"},
                                                    {"I32"},
                                                    {"I64"},
                                                    {"F64"},
                                                    {"IQ1_M"},
                                                    {"BF16", 1, 2}}};
constexpr uint32_t kF32 = 0, kF16 = 1, kQ4_1 = 3, kQ5_0 = 6, kQ5_1 = 7, kQ8_0 = 8, kBF16 = 30;

float half_at(const std::byte* at) {
  static const kernels::Table& kernels = **kernels::table_of("base");
  float out = 0;
  kernels.widen_f16(1, at, &out);
  return out;
}

// Returns the fifth bits of a block, or 0 for four-bit types.
uint32_t high_bits(uint32_t type, const std::byte* at) {
  uint32_t out = 0;
  if (type == kQ5_0 || type == kQ5_1) std::memcpy(&out, at, sizeof out);
  return out;
}

void widen_block(uint32_t type, const std::byte* block, float* out) {
  const float d = half_at(block);
  const std::byte* at = block + 2;
  if (type == kQ8_0) {
    for (size_t j = 0; j < kBlockNumbers; ++j)
      out[j] = static_cast<float>(static_cast<int8_t>(at[j])) * d;
    return;
  }
  const bool has_minimum = type == kQ4_1 || type == kQ5_1;
  const bool has_five = type == kQ5_0 || type == kQ5_1;
  float m = 0;
  if (has_minimum) {
    m = half_at(at);
    at += 2;
  }
  const uint32_t high = high_bits(type, at);
  if (has_five) at += sizeof high;
  const int zero = has_minimum ? 0 : has_five ? 16 : 8;
  for (size_t j = 0; j < kHalf; ++j) {
    const auto pair = static_cast<uint8_t>(at[j]);
    const int low = (pair & 0xF) | static_cast<int>((high >> j & 1) << 4);
    const int top = (pair >> 4) | static_cast<int>((high >> (j + kHalf) & 1) << 4);
    out[j] = static_cast<float>(low - zero) * d + m;
    out[j + kHalf] = static_cast<float>(top - zero) * d + m;
  }
}

}  // namespace

Result<uint64_t> ggml_bytes(uint32_t type, const Shape& shape) {
  if (type >= kBlockTypes.size()) return fail(Code::kUnsupported, "type {} is not supported", type);
  const BlockType& facts = kBlockTypes[type];
  if (facts.block == 0) {
    return fail(Code::kUnsupported,
                "{} is not supported (supported: F32, F16, BF16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0)",
                facts.name);
  }
  SIGNALBOX_TRY(const uint64_t floats, shape_bytes(Dtype::kF32, shape));
  const int64_t row = shape.empty() ? 1 : shape.back();
  if (row % static_cast<int64_t>(facts.block) != 0) {
    return fail(Code::kCorrupt, "{} of shape {}: rows are not a multiple of {}", facts.name,
                shape_text(shape), facts.block);
  }
  return floats / sizeof(float) / facts.block * facts.bytes;
}

std::optional<Dtype> ggml_plain_dtype(uint32_t type) {
  switch (type) {
    case kF32:
      return Dtype::kF32;
    case kF16:
      return Dtype::kF16;
    case kBF16:
      return Dtype::kBF16;
    default:
      return std::nullopt;
  }
}

std::vector<std::byte> ggml_widen(uint32_t type, std::span<const std::byte> blocks) {
  const size_t bytes = kBlockTypes[type].bytes;
  const size_t n = blocks.size() / bytes;
  std::vector<std::byte> out(n * kBlockNumbers * sizeof(float));
  std::array<float, kBlockNumbers> numbers{};
  for (size_t i = 0; i < n; ++i) {
    widen_block(type, blocks.data() + i * bytes, numbers.data());
    std::memcpy(out.data() + i * sizeof numbers, numbers.data(), sizeof numbers);
  }
  return out;
}

}  // namespace signalbox::weights
