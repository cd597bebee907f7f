// Any bytes as text for the small tokenizer: ids and offsets must stay within their bounds,
// whatever the limit. The first two bytes choose the options.

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
  if (size < 2) return 0;
  const bool is_pair = (data[0] & 2) != 0;
  const EncodeOptions options{.special_tokens = (data[0] & 1) != 0,
                              .tokens_max = data[0] >> 2,
                              .strategy = static_cast<TruncationStrategy>((data[1] & 3) % 3),
                              .side = static_cast<TruncationSide>(data[1] >> 2 & 1),
                              .stride = data[1] >> 3};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string_view first = text.substr(text.size() / 2);
  const std::string_view second = text.substr(0, text.size() / 2);
  Encoding encoding;
  if (is_pair) {
    tokenizer().encode_pair(first, second, options, encoding);
  } else {
    tokenizer().encode(text, options, encoding);
  }
  check(encoding, text.size(), options);
  int windows = 0;
  const auto take = [&](const Encoding& window) {
    if (windows == 0) SIGNALBOX_CHECK(window.ids == encoding.ids);
    check(window, text.size(), options);
    return ++windows < 100;
  };
  if (is_pair) {
    tokenizer().encode_pair_windows(first, second, options, take);
  } else {
    tokenizer().encode_windows(text, options, take);
  }
  SIGNALBOX_CHECK(windows > 0);
  return 0;
}
