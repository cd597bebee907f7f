// Reads any bytes as the files beside a tokenizer.json. The result is an error or a tokenizer whose
// ids stay below its size.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/mapped_file.h"
#include "tokenizer/hf/file.h"
#include "tokenizer/pipeline.h"

namespace {

using namespace signalbox::tokenizer;

std::string tokenizer_json() {
  const auto file = signalbox::MappedFile::open(std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                                                "tests/tokenizer/data/small.json");
  SIGNALBOX_CHECK(file.has_value());
  return std::string(file->text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string json = tokenizer_json();
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto settings = parse_settings({.config = text, .special = text, .added = text, .model = text});
  if (!settings) return 0;
  apply_class_defaults(*settings);
  auto parts = read_hf_json(json, *settings);
  if (!parts) return 0;
  const Pipeline tokenizer(*std::move(parts));
  Encoding encoding;
  tokenizer.encode("A [MASK]  caf\xC3\xA9 \xFF <x>ab router", {}, encoding);
  for (const int32_t id : encoding.ids)
    SIGNALBOX_CHECK(id >= 0 && id < tokenizer.vocabulary_size());
  tokenizer.encode_pair("ab ab", "b", {.tokens_max = 3, .side = tokenizer.side()}, encoding);
  SIGNALBOX_CHECK(encoding.ids.size() <= 3);
  return 0;
}
