// Feeds arbitrary bytes as replies of a collector. Its first byte is the status.

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "router/observe/delivery.h"

namespace observe = signalbox::observe;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const int status = data[0] % 18;
  constexpr int kHttp[] = {200, 429, 503, 500};
  for (const observe::Delivery& delivery :
       {observe::delivery_over_grpc(status, bytes, bytes, bytes),
        observe::delivery_over_http(kHttp[data[0] % 4], bytes, bytes)}) {
    SIGNALBOX_CHECK(delivery.pause.count() >= 0 && delivery.pause <= observe::kDeliveryPauseMax);
    SIGNALBOX_CHECK(delivery.rejected <= uint64_t{1} << 63);
    SIGNALBOX_CHECK(delivery.message.size() <= 300);
  }
  return 0;
}
