// Feeds arbitrary bytes as a reply, whole and as a stream. A text that is read is not empty. It is
// within its limit, apart from the marks around calls of tools.

#include <cstdint>
#include <string>

#include "router/shadow/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  constexpr size_t kBytesMax = 256, kAroundTools = 128 * 3;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::optional<request::Api> apis[] = {std::nullopt, request::Api::kMessages,
                                              request::Api::kResponses};
  for (const bool is_stream : {false, true}) {
    for (const auto api : apis) {
      const auto read = shadow::read_answer({text, is_stream, api}, kBytesMax);
      if (read) SIGNALBOX_CHECK(!read->empty() && read->size() <= kBytesMax + kAroundTools);
      const auto final_text = shadow::read_final_text({text, is_stream, api}, kBytesMax);
      SIGNALBOX_CHECK(!read || final_text.has_value());
      if (final_text) SIGNALBOX_CHECK(final_text->size() <= kBytesMax);
    }
  }
  return 0;
}
