// A member that is added to the first chunk of a stream: however the bytes are cut, the client gets
// the same, and all bytes of the server are there.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/replies/first_chunk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kMember = "\"flow\":{\"\":0},";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string whole, pieces;
  signalbox::replies::FirstChunkEditor at_once("flow", "{\"\":0}"), piecewise("flow", "{\"\":0}");
  at_once.push(text, true, whole);
  for (size_t at = 0; at < size; at += 1 + data[at] % 7)
    piecewise.push(text.substr(at, 1 + data[at] % 7), false, pieces);
  piecewise.push({}, true, pieces);
  SIGNALBOX_CHECK(whole == pieces);
  SIGNALBOX_CHECK(whole.size() == size || whole.size() == size + kMember.size());
  if (whole.size() > size) {
    const auto different = std::mismatch(text.begin(), text.end(), whole.begin()).first;
    const auto at = static_cast<size_t>(different - text.begin());
    whole.erase(at, kMember.size());
  }
  SIGNALBOX_CHECK(whole == text);
  return 0;
}
