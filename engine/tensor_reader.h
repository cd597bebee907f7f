#pragma once
// Tensors of a weights file by name, checked and packed. It remembers the first error, so that the
// parameters of a layer read as a list.

#include <string>

#include "base/buffer.h"
#include "engine/linear.h"
#include "kernels/kernels.h"
#include "weights/safetensors.h"

namespace signalbox::engine {

class TensorReader {
 public:
  /// `prefix` goes in front of every name. The file and the kernels outlive the reader.
  TensorReader(const weights::SafeTensors& file, const kernels::Table& kernels, std::string prefix)
      : file_(file), kernels_(kernels), prefix_(std::move(prefix)) {}

  /// Every element as float. Empty after an error. Looks before it allocates: a config may claim
  /// any size.
  Buffer<float> read(const std::string& name, const weights::Shape& shape);

  /// The same into `out`, which holds the shape's element count.
  void read(const std::string& name, const weights::Shape& shape, std::span<float> out);

  /// NAME.weight (out, in), and NAME.bias (out) when `bias`. With `room`, packs into its front,
  /// which shrinks by what was taken.
  Linear linear(const std::string& name, int32_t in, int32_t out, bool bias);
  Linear linear(const std::string& name, int32_t in, int32_t out, bool bias,
                std::span<float>& room);
  /// Packs what was read already.
  Linear pack(int32_t in, int32_t out, const Buffer<float>& w, Buffer<float> bias,
              std::span<float>& room);

  /// NAME.weight (width), and NAME.bias (width) when `bias`, otherwise zeros.
  Norm norm(const std::string& name, int32_t width, bool bias);

  /// A tensor left in the file because its rows are picked one by one: F32, F16 or BF16.
  weights::Tensor table(const std::string& name, const weights::Shape& shape);

  /// Whether a tensor of that shape is there; remembers the error when it is not.
  bool expect(const std::string& name, const weights::Shape& shape);

  const Result<void>& status() const { return status_; }

 private:
  const weights::SafeTensors& file_;
  const kernels::Table& kernels_;
  std::string prefix_;
  Result<void> status_;
};

/// The first extent of a tensor; 0 when there is none of that name, or when it is a scalar.
int64_t rows_of(const weights::SafeTensors& file, std::string_view name);

/// The first of `prefixes` with which `name` is there; the last when none is, so that the error
/// names it.
std::string prefix_of(const weights::SafeTensors& file, std::initializer_list<const char*> prefixes,
                      std::string_view name);

}  // namespace signalbox::engine
