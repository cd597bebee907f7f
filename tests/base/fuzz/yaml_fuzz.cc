// Any bytes must give a tree or an Error. The limits are small, so that a hostile input would be
// noticed by its time or memory.

#include <cstddef>
#include <cstdint>

#include "base/yaml.h"

namespace {

size_t count(const signalbox::yaml::Node& node) {
  size_t n = 1;
  for (const auto& item : node.items) n += count(item);
  for (const auto& entry : node.entries) n += count(entry.value);
  return n;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const signalbox::yaml::Limits limits{.bytes = 1 << 16, .depth = 32, .nodes = 10'000};
  const auto root =
      signalbox::yaml::parse({reinterpret_cast<const char*>(data), size}, "fuzz", limits);
  if (root) SIGNALBOX_CHECK(count(*root) <= limits.nodes);
  return 0;
}
