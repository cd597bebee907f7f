// Feeds arbitrary replies of a server. They must be refused, or give usable rows and schemas.

#include <cstdint>
#include <string>

#include "router/cache/milvus_rows.h"
#include "router/stores/milvus.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  namespace cache = signalbox::cache;
  const auto reply =
      stores::read_milvus_reply(200, std::string(reinterpret_cast<const char*>(data), size));
  if (!reply) {
    SIGNALBOX_CHECK(reply.error().message.size() < 1000);
    return 0;
  }
  static_cast<void>(cache::check_milvus_schema(reply->root()));
  static_cast<void>(cache::is_milvus_loaded(reply->root()));
  const auto rows = cache::read_milvus_rows(reply->root());
  if (!rows) return 0;
  for (cache::MilvusRow row : *rows) {
    // A row that was read can be written, and reads back the same.
    const std::string bytes = std::move(row.bytes);
    const auto written = cache::milvus_rows(row, bytes);
    if (!written) continue;
    const auto again = json::Document::parse(fmt::format("{{\"data\":{}}}", *written));
    SIGNALBOX_CHECK(again.has_value());
    const auto same = cache::read_milvus_rows(again->root());
    SIGNALBOX_CHECK(same.has_value() && !same->empty());
    std::string joined;
    for (const cache::MilvusRow& piece : *same) joined += piece.bytes;
    SIGNALBOX_CHECK(joined == bytes);
    SIGNALBOX_CHECK(same->front().id == row.id && same->front().expires == row.expires);
  }
  return 0;
}
