// Feeds arbitrary replies of an embedding server. They must be refused, or give vectors of
// length 1.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "router/models/remote_embedder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  constexpr size_t kTexts = 2, kDim = 3;
  std::vector<float> out(kTexts * kDim);
  const std::string body(reinterpret_cast<const char*>(data), size);
  const auto read = models::read_embeddings_reply(body, kTexts, out);
  if (!read) {
    SIGNALBOX_CHECK(read.error().message.size() < 1000);
    return 0;
  }
  for (size_t row = 0; row < out.size(); row += kDim) {
    double squares = 0;
    for (size_t i = row; i < row + kDim; ++i) squares += double{out[i]} * out[i];
    SIGNALBOX_CHECK(std::abs(squares - 1) < 1e-3);
  }
  return 0;
}
