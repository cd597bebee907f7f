#pragma once
// A linear layer: a packed weight matrix and its bias.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/buffer.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

/// Buffers for activations converted to a narrower format. Each thread has its own.
struct Operands {
  Buffer<float> narrow;       // bf16_scratch() floats
  Buffer<uint8_t> quantized;  // (rows, quantized_row_bytes(in))
  Buffer<float> scales;       // (rows): scales of `quantized`

  /// Allocates for `rows` rows of up to `in` values.
  void reserve(int64_t rows, int32_t in) {
    if (static_cast<int64_t>(scales.size()) < rows) scales = Buffer<float>(rows);
    const int64_t bytes = rows * kernels::quantized_row_bytes(in);
    if (static_cast<int64_t>(quantized.size()) < bytes) quantized = Buffer<uint8_t>(bytes);
    const int64_t floats = kernels::bf16_scratch({static_cast<int32_t>(rows), in, 0});
    if (static_cast<int64_t>(narrow.size()) < floats) narrow = Buffer<float>(floats);
  }
};

/// Immutable. Points into memory owned by others: an arena or a mapped file.
class Linear {
 public:
  Linear() = default;
  /// packed: w (out, in) written by pack_linear. bias: written by pack_bias, or empty. place: index
  /// among the model's linear layers.
  Linear(kernels::Format format, int32_t in, int32_t out, const void* packed, Buffer<float> bias,
         int32_t place = 0)
      : format_(format),
        in_(in),
        out_(out),
        place_(place),
        packed_(packed),
        bias_(std::move(bias)) {}

  /// y = finish(x w^T + bias), x (rows, in); y (rows, out), or half as wide with a gate. `operands`
  /// must have space for the rows. low_rank (rows) are the adapters' contributions to the sums, or
  /// nullptr.
  void apply(const kernels::Table& kernels, int32_t rows, const float* x, kernels::Finish finish,
             Operands& operands, float* y, const kernels::LowRank* low_rank = nullptr) const {
    const kernels::LinearShape shape{rows, in_, out_};
    const kernels::Epilogue epilogue{finish, bias_.size() == 0 ? nullptr : bias_.data(), low_rank};
    switch (format_) {
      case kernels::Format::kF32:
        kernels.linear_f32(shape, x, packed_, epilogue, y);
        return;
      case kernels::Format::kBF16:
        kernels.linear_bf16(shape, x, operands.narrow.data(), packed_, epilogue, y);
        return;
      case kernels::Format::kI8:
        kernels.quantize_rows(rows, in_, x, operands.quantized.data(), operands.scales.data());
        kernels.linear_i8(shape, operands.quantized.data(), operands.scales.data(), packed_,
                          epilogue, y);
        return;
    }
  }

  kernels::Format format() const { return format_; }
  int32_t in() const { return in_; }
  int32_t out() const { return out_; }
  int32_t place() const { return place_; }

 private:
  kernels::Format format_ = kernels::Format::kF32;
  int32_t in_ = 0;
  int32_t out_ = 0;
  int32_t place_ = 0;
  const void* packed_ = nullptr;
  Buffer<float> bias_;
};

/// Scale and shift of a layer normalisation.
struct Norm {
  Buffer<float> gamma, beta;  // (width)

  /// Normalises the rows of x to y (rows, width); y may be x.
  void apply(const kernels::Table& kernels, int32_t rows, float eps, const float* x,
             float* y) const {
    kernels.layer_norm(rows, static_cast<int32_t>(gamma.size()), gamma.data(), beta.data(), eps, x,
                       y);
  }
};

/// Scale of a norm without mean and shift.
struct RmsNorm {
  Buffer<float> gamma;  // (width)

  /// Normalises the rows of x to y (rows, width); y may be x.
  void apply(const kernels::Table& kernels, int64_t rows, float eps, const float* x,
             float* y) const {
    kernels.rms_norm(static_cast<int32_t>(rows), static_cast<int32_t>(gamma.size()), gamma.data(),
                     eps, x, y);
  }
};

/// Packs w (out, in) in single precision into `memory` of packed_linear_bytes(kF32, in, out), which
/// must outlive the layer. bias (out), or empty.
inline Linear pack_f32(int32_t in, int32_t out, std::span<const float> w,
                       std::span<const float> bias, std::byte* memory) {
  constexpr auto kFormat = kernels::Format::kF32;
  kernels::pack_linear(kFormat, in, out, w.data(), memory);
  Buffer<float> packed_bias(bias.empty() ? 0 : kernels::packed_bias_size(out));
  if (!bias.empty()) kernels::pack_bias(out, bias.data(), packed_bias.data());
  return {kFormat, in, out, memory, std::move(packed_bias)};
}

}  // namespace signalbox::engine
