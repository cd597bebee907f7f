#pragma once
// A layer of long short-term memory in both directions: Hochreiter and Schmidhuber, 1997; Graves
// and Schmidhuber, "Framewise phoneme classification with bidirectional LSTM", 2005.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "engine/linear.h"
#include "engine/parallel.h"
#include "engine/tensor_reader.h"

namespace signalbox::engine {

/// Immutable, thread-safe.
class BiLstm {
 public:
  /// Reads layer `layer` of PyTorch's LSTM named `name`, whose output, both directions together,
  /// has the width of its input. `width` is even. Errors are the reader's, whose arena holds the
  /// weights.
  static BiLstm read(TensorReader& reader, std::string_view name, int32_t layer, int32_t width);

  /// Returns y (rows, width) for x (rows, width): the forward states, then the backward ones.
  /// At most two threads work together, one per direction.
  Buffer<float> apply(const kernels::Table& kernels, int32_t rows, const float* x,
                      Workers& workers) const;

 private:
  /// The four gates of a direction, in the order in, forget, cell, out.
  struct Direction {
    Linear input;   // width to 4 width / 2
    Linear memory;  // width / 2 to 4 width / 2
  };
  static Direction read_direction(TensorReader& reader, const std::string& name,
                                  const std::string& suffix, int32_t width);
  void run(const kernels::Table& kernels, const Direction& direction, bool backward, int32_t rows,
           const float* x, float* y) const;

  int32_t width_ = 0;
  Direction forward_, backward_;
};

}  // namespace signalbox::engine
