#pragma once
// A weight matrix and its bias, packed for the kernels that will multiply by it.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

class Linear {
 public:
  /// Floats that the packed form of a matrix takes, padded to whole cache lines.
  static size_t packed_size(const kernels::Table& kernels, int32_t in, int32_t out) {
    return (static_cast<size_t>(kernels.packed_linear_size(in, out)) + 15) / 16 * 16;
  }

  Linear() = default;
  /// w (out, in) is laid out in `packed` (packed_size), which outlives this; bias (out), or empty
  /// for none.
  Linear(const kernels::Table& kernels, int32_t in, int32_t out, const Buffer<float>& w,
         Buffer<float> bias, std::span<float> packed)
      : packed_by_(&kernels), in_(in), out_(out), packed_(packed.data()), bias_(std::move(bias)) {
    SIGNALBOX_CHECK(w.size() == static_cast<size_t>(in) * out);
    SIGNALBOX_CHECK(bias_.size() == static_cast<size_t>(out) || bias_.size() == 0);
    SIGNALBOX_CHECK(packed.size() == packed_size(kernels, in, out));
    kernels.pack_linear(in, out, w.data(), packed.data());
  }
  /// The same, with room of its own.
  Linear(const kernels::Table& kernels, int32_t in, int32_t out, const Buffer<float>& w,
         Buffer<float> bias)
      : Linear(kernels, in, out, w, std::move(bias), Buffer<float>(packed_size(kernels, in, out))) {
  }

  /// y (rows, out) = x (rows, in) w^T, without the bias, for those who fuse its addition.
  void multiply(const kernels::Table& kernels, int32_t rows, const float* x, float* y) const {
    SIGNALBOX_CHECK(packed_by_ == &kernels);
    kernels.linear(rows, in_, out_, x, packed_, y);
  }

  /// y (rows, out) = x (rows, in) w^T + bias.
  void apply(const kernels::Table& kernels, int32_t rows, const float* x, float* y) const {
    multiply(kernels, rows, x, y);
    if (bias_.size() != 0) kernels.add_bias(rows, out_, bias_.data(), y);
  }

  int32_t in() const { return in_; }
  int32_t out() const { return out_; }
  /// (out). Precondition: it has one.
  const float* bias() const { return bias_.data(); }

 private:
  Linear(const kernels::Table& kernels, int32_t in, int32_t out, const Buffer<float>& w,
         Buffer<float> bias, Buffer<float> room)
      : Linear(kernels, in, out, w, std::move(bias), room.span()) {
    room_ = std::move(room);
  }

  const kernels::Table* packed_by_ = nullptr;  // layouts differ between tiers
  int32_t in_ = 0;
  int32_t out_ = 0;
  const float* packed_ = nullptr;
  Buffer<float> bias_;
  Buffer<float> room_;  // what packed_ looks into, unless another owns it
};

/// Scale and shift of a layer normalisation.
struct Norm {
  Buffer<float> gamma, beta;  // (width)

  /// y (rows, width) = the normalised rows of x; y may be x.
  void apply(const kernels::Table& kernels, int32_t rows, float eps, const float* x,
             float* y) const {
    kernels.layer_norm(rows, static_cast<int32_t>(gamma.size()), gamma.data(), beta.data(), eps, x,
                       y);
  }
};

}  // namespace signalbox::engine
