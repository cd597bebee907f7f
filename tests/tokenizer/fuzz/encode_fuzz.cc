// Any bytes as text for the small tokenizer: ids and offsets must stay within their bounds,
// whatever the limit. The first byte chooses the options.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace signalbox::tokenizer;

const Tokenizer& tokenizer() {
  static const auto opened = [] {
    auto result = Tokenizer::open(std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                                  "tests/tokenizer/data/fuzz.json");
    SIGNALBOX_CHECK(result.has_value());
    return *std::move(result);
  }();
  return *opened;
}

void check(const Encoding& encoding, size_t text_size, const EncodeOptions& options) {
  SIGNALBOX_CHECK(encoding.ids.size() == encoding.offsets.size());
  SIGNALBOX_CHECK(encoding.ids.size() == encoding.type_ids.size());
  SIGNALBOX_CHECK(options.tokens_max == 0 ||
                  encoding.ids.size() <= static_cast<size_t>(options.tokens_max));
  for (const int32_t id : encoding.ids)
    SIGNALBOX_CHECK(id >= 0 && id < tokenizer().vocabulary_size());
  for (const Span span : encoding.offsets)
    SIGNALBOX_CHECK(span.begin <= span.end && span.end <= text_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const EncodeOptions options{.special_tokens = (data[0] & 1) != 0, .tokens_max = data[0] >> 2};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Encoding encoding;
  tokenizer().encode(text, options, encoding);
  check(encoding, text.size(), options);
  if ((data[0] & 2) != 0) {
    tokenizer().encode_pair(text.substr(text.size() / 2), text.substr(0, text.size() / 2), options,
                            encoding);
    check(encoding, text.size(), options);
  }
  return 0;
}
