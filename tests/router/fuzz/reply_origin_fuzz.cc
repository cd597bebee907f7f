// Any bytes of a reply give short names, whatever the sizes of the pieces in which they arrive.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "router/replies/reply_origin.h"

using signalbox::replies::OriginReader;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] % 128 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  for (const bool events : {false, true}) {
    OriginReader whole(events), pieces(events);
    whole.feed(bytes);
    for (size_t at = 0; at < bytes.size(); at += piece) pieces.feed(bytes.substr(at, piece));
    const auto found = whole.origin();
    SIGNALBOX_CHECK(found == pieces.origin());
    SIGNALBOX_CHECK(found.model.size() <= 128 && found.id.size() <= 128);
    SIGNALBOX_CHECK(found.finish_reasons.size() <= 16);
  }
  return 0;
}
