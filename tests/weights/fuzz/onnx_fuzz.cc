// Reads any bytes as an ONNX file. The result is an error or tensors with all their bytes.

#include <cstdint>
#include <string_view>

#include "tests/weights/fuzz/read_all.h"
#include "weights/onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::weights;
  const auto list = parse_onnx({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (list) read_all(*list);
  return 0;
}
