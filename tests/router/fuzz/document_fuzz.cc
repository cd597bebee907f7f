// Applies arbitrary patches to documents. A document that can be shown with masked secrets must be
// restored to the same document when it is sent back unchanged.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "router/config/document.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  using config::Syntax;
  constexpr std::string_view kCut = "\n---8<---\n";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find(kCut);
  if (cut == std::string_view::npos) return 0;
  const auto patched = config::patched(text.substr(0, cut), text.substr(cut + kCut.size()), "fuzz");
  if (!patched) {
    SIGNALBOX_CHECK(!patched.error().message.empty());
    return 0;
  }
  const auto shown = config::show(*patched, "fuzz", Syntax::kJson, false);
  if (!shown) return 0;  // a key of more than a kilobyte, which loading refuses
  const auto back = config::replaced(*patched, *shown, "fuzz");
  if (!back) return 0;  // two list elements with the same name
  const auto first = config::show(*patched, "fuzz", Syntax::kJson, true);
  const auto second = config::show(*back, "fuzz", Syntax::kJson, true);
  SIGNALBOX_CHECK(first && second);
  const bool same = *first == *second;
  // A list can contain two elements with the same name, or a text that looks like a mask.
  SIGNALBOX_CHECK(same || text.find("name") != text.npos || text.find("****") != text.npos);
  return 0;
}
