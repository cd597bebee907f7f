// Reads any bytes as the table of a Precompiled normalizer. The result is an error, or text whose
// alignment stays within bounds.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/normalize/precompiled.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  using namespace signalbox::tokenizer;
  const std::string_view blob(reinterpret_cast<const char*>(data), size);
  const auto precompiled = Precompiled::parse(blob);
  if (!precompiled) return 0;
  constexpr std::string_view kText("\x01 ab\r\n caf\u00E9 e\u0301\uFB01 \u0915\u094D\u0937 a\0b",
                                   34);
  Normalized out;
  (*precompiled)->normalize(TextView(kText, 3), out);
  SIGNALBOX_CHECK(utf8::is_valid(out.text));
  SIGNALBOX_CHECK(out.source.size() == out.text.size());
  for (const Span span : out.source) {
    SIGNALBOX_CHECK(span.begin >= 3 && span.begin <= span.end && span.end <= kText.size() + 3);
  }
  return 0;
}
