// Feeds arbitrary bytes as files in a directory of contexts. Nothing may break or allocate beyond
// the limit, and a context that is read must match its id.

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "router/contexts/record.h"
#include "router/contexts/zstd.h"

namespace contexts = signalbox::contexts;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kBytesMax = 1 << 16;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto head = contexts::read_head(file);
  const auto content = contexts::read_content(file, kBytesMax);
  SIGNALBOX_CHECK(head || !content);
  if (content) {
    SIGNALBOX_CHECK(content->size() <= kBytesMax && content->size() == head->context.bytes);
    SIGNALBOX_CHECK(contexts::id_of(*content) == head->context.key.id);
  }
  static_cast<void>(contexts::decompress(file, size * 3));
  // Every record that is written can be read.
  const contexts::Context made{
      {std::string(file.substr(0, 100)), contexts::id_of(file)}, size, 1, 7, false};
  const std::string packed = contexts::compress(file, 1);
  const std::string record = contexts::write_head(made, packed.size()) + packed;
  const auto again = contexts::read_content(record, size);
  SIGNALBOX_CHECK(again && *again == file);
  return 0;
}
