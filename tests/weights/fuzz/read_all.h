#pragma once
// Reads every byte of every tensor, so that a sanitizer can detect errors.

#include <cstdint>

#include "base/error.h"
#include "weights/tensor_list.h"

namespace signalbox::weights {

inline void read_all(const TensorList& list) {
  uint8_t all = 0;
  for (const Tensor& tensor : list.tensors()) {
    SIGNALBOX_CHECK(tensor.size() >= 0);
    for (const std::byte b : tensor.bytes) all ^= static_cast<uint8_t>(b);
  }
  const volatile uint8_t read = all;
  (void)read;
}

}  // namespace signalbox::weights
