// Copies the members of the chunk as they are. Very long ones are left out, because every chunk
// that we insert repeats them and the stream would grow many times over.

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
