// libFuzzer calls this for each new input of a target. One input in four, and every input of
// another form, gets libFuzzer's own mutation, so that readers still see bytes without any form.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/mutations.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned seed) {
  signalbox::fuzz::Random random(seed);
  const auto change = [](std::string_view bytes) {
    std::string out(bytes);
    out.resize(bytes.size() + 16);
    out.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(out.data()), bytes.size(), out.size()));
    return out;
  };
  if (random() % 4 != 0) {
    const auto changed =
        signalbox::fuzz::mutate({reinterpret_cast<const char*>(data), size}, random, change);
    if (changed && !changed->empty() && changed->size() <= size_max) {
      std::memcpy(data, changed->data(), changed->size());
      return changed->size();
    }
  }
  return LLVMFuzzerMutate(data, size, size_max);
}
