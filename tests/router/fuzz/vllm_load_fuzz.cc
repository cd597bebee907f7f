// Feeds arbitrary bytes as metrics of a server. They must be refused, or be numbers within bounds.

#include <cstdint>

#include "router/workers/load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  const auto load = workers::parse_load({reinterpret_cast<const char*>(data), size});
  if (!load) return 0;
  SIGNALBOX_CHECK(!load->running || (*load->running >= 0 && *load->running < 1e18));
  SIGNALBOX_CHECK(!load->waiting || (*load->waiting >= 0 && *load->waiting < 1e18));
  SIGNALBOX_CHECK(!load->cache_usage || (*load->cache_usage >= 0 && *load->cache_usage <= 1));
  return 0;
}
