// Feeds arbitrary bytes as the reply of an MCP server, as JSON and as events. The texts that come
// out must be few, different and not empty.

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "router/retrieval/mcp.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  constexpr size_t kMost = 3;
  for (const char* type : {"application/json", "text/event-stream"}) {
    const auto response = retrieval::mcp::read_response(
        type, std::string(reinterpret_cast<const char*>(data), size), 1);
    if (!response) {
      SIGNALBOX_CHECK(!response.error().message.empty());
      continue;
    }
    const auto version = retrieval::mcp::read_initialize(*response);
    SIGNALBOX_CHECK(!version || retrieval::mcp::is_known(*version));
    auto texts = retrieval::mcp::read_call(*response, kMost);
    if (!texts) continue;
    SIGNALBOX_CHECK(texts->size() <= kMost);
    std::sort(texts->begin(), texts->end());
    SIGNALBOX_CHECK(std::adjacent_find(texts->begin(), texts->end()) == texts->end());
    SIGNALBOX_CHECK(texts->empty() || !texts->front().empty());
  }
  return 0;
}
