// The bytes of the chunk's own members, but for those so long that chunks of our own would make a
// stream many times as long.

#include "router/replies/chunk_head.h"

namespace signalbox::replies {
namespace {

constexpr size_t kMemberBytesMax = 1024;

}  // namespace

std::string chunk_head(const json::Value& chunk) {
  std::string out = "{";
  for (const std::string_view name : {"id", "object", "created", "model", "system_fingerprint"}) {
    const auto value = chunk.find(name);
    if (value && value->raw().size() <= kMemberBytesMax)
      out += fmt::format("\"{}\":{},", name, value->raw());
  }
  return out;
}

}  // namespace signalbox::replies
