// Feeds arbitrary bytes as records of requests in Redis and as names of deletions. A record that is
// read is still one with everything added, and a deletion that is read is written alike.

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "router/shared_replay/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace shared = signalbox::shared_replay;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(shared::read_answered(bytes));
  if (const auto object = shared::read_object(bytes)) {
    signalbox::observe::RecordTexts texts{.json = *object};
    texts.request_body = bytes;
    texts.outcomes = *object;
    texts.shadows = {{*object, "answer"}};
    SIGNALBOX_CHECK(signalbox::json::Document::parse(detail_json(texts)).has_value());
  }
  const shared::Deletion deletion = shared::read_deletion(bytes);
  SIGNALBOX_CHECK(deletion.moment == 0 || deletion.name() == bytes);
  return 0;
}
