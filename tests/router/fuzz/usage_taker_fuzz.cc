// Usage that is taken out of a stream: however the bytes are cut, the client gets the same, and a
// stream that names no usage passes as it is.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/replies/usage_taker.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string whole, pieces;
  signalbox::replies::UsageTaker at_once, piecewise;
  at_once.push(text, true, whole);
  for (size_t at = 0; at < size; at += 1 + data[at] % 7)
    piecewise.push(text.substr(at, 1 + data[at] % 7), false, pieces);
  piecewise.push({}, true, pieces);
  SIGNALBOX_CHECK(whole == pieces);
  SIGNALBOX_CHECK(whole.size() <= size);
  SIGNALBOX_CHECK(text.find("\"usage\"") != std::string_view::npos || whole == text);
  return 0;
}
