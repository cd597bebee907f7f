// Any bytes as a checkpoint of PyTorch, and as the pickle in one: refused, or tensors whose bytes
// are all there.

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
