#pragma once
// A weight matrix and its bias, packed for the kernels that will multiply by it.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

/// A view of packed weights that its owner keeps, with a bias of its own.
class Linear {
 public:
  /// Floats that the packed form of a matrix takes, padded to whole cache lines.
  static size_t packed_size(const kernels::Table& kernels, int32_t in, int32_t out) {
    return (static_cast<size_t>(kernels.packed_linear_size(in, out)) + 15) / 16 * 16;
  }

  Linear() = default;
  /// w (out, in) is laid out in `packed` (packed_size), which outlives this; bias (out).
  Linear(const kernels::Table& kernels, int32_t in, int32_t out, const Buffer<float>& w,
         Buffer<float> bias, std::span<float> packed)
      : packed_by_(&kernels), in_(in), out_(out), packed_(packed.data()), bias_(std::move(bias)) {
    SIGNALBOX_CHECK(w.size() == static_cast<size_t>(in) * out);
    SIGNALBOX_CHECK(bias_.size() == static_cast<size_t>(out));
    SIGNALBOX_CHECK(packed.size() == packed_size(kernels, in, out));
    kernels.pack_linear(in, out, w.data(), packed.data());
  }

  /// y (rows, out) = x (rows, in) w^T, without the bias: its addition is fused with what follows.
  void multiply(const kernels::Table& kernels, int32_t rows, const float* x, float* y) const {
    SIGNALBOX_CHECK(packed_by_ == &kernels);
    kernels.linear(rows, in_, out_, x, packed_, y);
  }

  int32_t out() const { return out_; }
  const float* bias() const { return bias_.data(); }  // (out)

 private:
  const kernels::Table* packed_by_ = nullptr;  // layouts differ between tiers
  int32_t in_ = 0;
  int32_t out_ = 0;
  const float* packed_ = nullptr;
  Buffer<float> bias_;
};

}  // namespace signalbox::engine
