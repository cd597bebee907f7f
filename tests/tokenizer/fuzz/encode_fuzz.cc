// Encodes any bytes with small tokenizers of each family. Ids and offsets must stay within their
// bounds for every limit. The first two bytes select the tokenizer and the options.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace signalbox::tokenizer;

const Tokenizer& tokenizer(size_t index) {
  static const auto opened = [] {
    std::array<std::unique_ptr<const Tokenizer>, 4> out;
    const std::array names = {"fuzz.json", "fuzz_byte_level.json", "fuzz_metaspace.json",
                              "fuzz_unigram.json"};
    for (size_t i = 0; i < out.size(); ++i) {
      auto result = Tokenizer::open(std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                                    "tests/tokenizer/data" / names[i]);
      SIGNALBOX_CHECK(result.has_value());
      out[i] = *std::move(result);
    }
    return out;
  }();
  return *opened[index];
}

void check(const Encoding& encoding, size_t text_size, const EncodeOptions& options,
           int32_t ids_end) {
  SIGNALBOX_CHECK(encoding.ids.size() == encoding.offsets.size());
  SIGNALBOX_CHECK(encoding.ids.size() == encoding.type_ids.size());
  SIGNALBOX_CHECK(options.tokens_max == 0 ||
                  encoding.ids.size() <= static_cast<size_t>(options.tokens_max));
  for (const int32_t id : encoding.ids) SIGNALBOX_CHECK(id >= 0 && id < ids_end);
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
                              .stride = data[1] >> 3 & 7};
  const Tokenizer& chosen = tokenizer(data[1] >> 6);
  const int32_t ids_end = chosen.vocabulary_size();
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string_view first = text.substr(text.size() / 2);
  const std::string_view second = text.substr(0, text.size() / 2);
  Encoding encoding;
  if (is_pair) {
    chosen.encode_pair(first, second, options, encoding);
  } else {
    chosen.encode(text, options, encoding);
  }
  check(encoding, text.size(), options, ids_end);
  int windows = 0;
  const auto take = [&](const Encoding& window) {
    if (windows == 0) SIGNALBOX_CHECK(window.ids == encoding.ids);
    check(window, text.size(), options, ids_end);
    return ++windows < 100;
  };
  if (is_pair) {
    chosen.encode_pair_windows(first, second, options, take);
  } else {
    chosen.encode_windows(text, options, take);
  }
  SIGNALBOX_CHECK(windows > 0);
  return 0;
}
