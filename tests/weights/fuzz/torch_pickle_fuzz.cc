// Reads any bytes as a PyTorch checkpoint, and as the pickle in one. The result is an error or
// tensors with all their bytes.

#include <cstdint>
#include <span>
#include <string_view>

#include "tests/weights/fuzz/read_all.h"
#include "weights/pickle.h"
#include "weights/torch_pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::weights;
  (void)read_pickle({reinterpret_cast<const char*>(data), size});
  TensorList list;
  if (read_torch(list, std::as_bytes(std::span(data, size)), "fuzz")) read_all(list);
  return 0;
}
