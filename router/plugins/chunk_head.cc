// The bytes of the chunk's own members.

#include "router/plugins/chunk_head.h"

namespace signalbox::router {

std::string chunk_head(const json::Value& chunk) {
  std::string out = "{";
  for (const std::string_view name : {"id", "object", "created", "model", "system_fingerprint"}) {
    const auto value = chunk.find(name);
    if (value) out += fmt::format("\"{}\":{},", name, value->raw());
  }
  return out;
}

}  // namespace signalbox::router
