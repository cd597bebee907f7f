#pragma once
// A weight matrix and its bias, packed for the kernels that will multiply by it.

#include <cstdint>

#include "base/buffer.h"
#include "kernels/kernels.h"

namespace signalbox::engine {

class Linear {
 public:
  Linear() = default;
  /// w (out, in) is copied into the layout of `kernels`; bias (out).
  Linear(const kernels::Table& kernels, int32_t in, int32_t out, const Buffer<float>& w,
         Buffer<float> bias)
      : packed_by_(&kernels),
        in_(in),
        out_(out),
        packed_(kernels.packed_linear_size(in, out)),
        bias_(std::move(bias)) {
    SIGNALBOX_CHECK(w.size() == static_cast<size_t>(in) * out &&
                    bias_.size() == static_cast<size_t>(out));
    kernels.pack_linear(in, out, w.data(), packed_.data());
  }

  /// y (rows, out) = x (rows, in) w^T, without the bias: its addition is fused with what follows.
  void multiply(const kernels::Table& kernels, int32_t rows, const float* x, float* y) const {
    SIGNALBOX_CHECK(packed_by_ == &kernels);
    kernels.linear(rows, in_, out_, x, packed_.data(), y);
  }

  int32_t out() const { return out_; }
  const float* bias() const { return bias_.data(); }  // (out)

 private:
  const kernels::Table* packed_by_ = nullptr;  // layouts differ between tiers
  int32_t in_ = 0;
  int32_t out_ = 0;
  Buffer<float> packed_;
  Buffer<float> bias_;
};

}  // namespace signalbox::engine
