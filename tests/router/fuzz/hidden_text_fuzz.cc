// Feeds arbitrary bytes to the search for hidden texts. Each result must come from a range of the
// source, and all together must stay within the documented bound.

#include <cstdint>

#include "base/error.h"
#include "router/text/hidden.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  // A run of digits adds at most its own bytes, the four rewritten forms at most one text each.
  constexpr size_t kTimesMax = 5;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t bytes = 0;
  for (const text::HiddenText& hidden : text::hidden_texts(text)) {
    SIGNALBOX_CHECK(hidden.begin <= hidden.end && hidden.end <= size);
    bytes += hidden.text.size();
  }
  SIGNALBOX_CHECK(bytes <= kTimesMax * size);
  for (const text::HiddenText& encoded : text::encoded_texts(text))
    SIGNALBOX_CHECK(encoded.begin < encoded.end && encoded.end <= size);
  return 0;
}
