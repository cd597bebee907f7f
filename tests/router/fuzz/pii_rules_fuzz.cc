// Feeds arbitrary bytes. The findings of the rules must lie in the text, in order, and must not
// overlap.

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "router/safety/pii/rules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox::pii;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t last = 0;
  for (const PiiEntity& entity : find_pii_by_rules(text)) {
    SIGNALBOX_CHECK(entity.begin >= last && entity.begin < entity.end && entity.end <= text.size());
    SIGNALBOX_CHECK(entity.score > 0 && entity.score <= 1);
    last = entity.end;
  }
  return 0;
}
