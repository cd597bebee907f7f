// Feeds hostile streams of a server and requests of a client. Nothing may break, and an assembled
// reply must stream again to the same reply.

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "router/cache/guard.h"
#include "router/cache/reply.h"

namespace cache = signalbox::cache;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t half = size / 2;
  cache::EventAssembler whole(4096), halves(4096);
  const bool read = whole.push(text).has_value();
  const bool read_halves =
      halves.push(text.substr(0, half)).has_value() && halves.push(text.substr(half)).has_value();
  SIGNALBOX_CHECK(read == read_halves);
  if (read) {
    const auto one = whole.finish(), other = halves.finish();
    SIGNALBOX_CHECK(one.has_value() == other.has_value());
    if (one) {
      SIGNALBOX_CHECK(*one == *other);
      const auto document = signalbox::json::Document::parse(*one);
      SIGNALBOX_CHECK(document.has_value());
      cache::EventAssembler again(8192);
      SIGNALBOX_CHECK(again.push(cache::events_of(document->root(), true)).has_value());
      const auto same = again.finish();
      SIGNALBOX_CHECK(same.has_value() && *same == *one);
    }
  }
  const auto a = text.substr(0, half), b = text.substr(half);
  SIGNALBOX_CHECK(cache::difference(a, a) == cache::Difference::kNone);
  SIGNALBOX_CHECK((cache::difference(a, b) == cache::Difference::kNone) ==
                  (cache::difference(b, a) == cache::Difference::kNone));
  return 0;
}
