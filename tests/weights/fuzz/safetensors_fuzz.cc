// Reads any bytes as a safetensors file. The result is an error, or every tensor is inside the
// file.

#include <cstdint>

#include "base/error.h"
#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  const auto tensors = weights::SafeTensors::parse(file, "fuzz");
  if (!tensors) return 0;
  for (const weights::Tensor& tensor : tensors->tensors()) {
    SIGNALBOX_CHECK(tensor.size() >= 0);
    if (tensor.bytes.empty()) continue;
    SIGNALBOX_CHECK(tensor.bytes.data() >= file.data());
    SIGNALBOX_CHECK(tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size());
  }
  return 0;
}
