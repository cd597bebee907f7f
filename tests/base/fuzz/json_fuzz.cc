// Any bytes must give a document or an Error. The values of a document lie in order within their
// container, each is JSON by itself, and a document takes at most three times its source.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/json.h"

namespace {

namespace json = signalbox::json;

// Returns the end of the value.
size_t visit(const json::Value& value) {
  size_t last = value.begin();
  const auto inside = [&](const json::Value& each) {
    SIGNALBOX_CHECK(each.begin() > last);
    last = visit(each);
  };
  for (const json::Value& item : value.items()) inside(item);
  for (const json::Member& member : value.members()) inside(member.value);
  SIGNALBOX_CHECK(value.end() > last || (last == value.begin() && value.end() > value.begin()));
  if (value.is_string()) SIGNALBOX_CHECK(value.text().size() <= value.raw().size() - 2);
  if (value.is_array() || value.is_object())
    SIGNALBOX_CHECK(json::Document::parse(std::string(value.raw())));
  return value.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kBytesMax = 1 << 14, kSmall = 256;
  const auto document = json::Document::parse({reinterpret_cast<const char*>(data), size},
                                              {.bytes = kBytesMax, .depth = 32});
  if (!document) return 0;
  SIGNALBOX_CHECK(document->memory_bytes() <= 3 * size + kSmall);
  visit(document->root());
  return 0;
}
