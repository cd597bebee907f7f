// Feeds arbitrary replies of Milvus and Qdrant. They must be refused, or give rows of the requested
// user, which are equal after they are written and read again.

#include <cstdint>
#include <string>

#include "router/shared_memories/row_servers.h"
#include "router/stores/qdrant.h"

namespace {

using namespace signalbox;

// The replay of all corpora compiles every target in one file, so the names of this room stay
// inside the functions.
void check(const shared_memories::Rows& read, const shared_memories::RowQuery& query) {
  using namespace shared_memories;
  for (const Row& row : read.rows) {
    SIGNALBOX_CHECK(is_row_id(row.id) && is_owner(row.record.owner));
    SIGNALBOX_CHECK(query.owner.empty() || row.record.owner == query.owner);
    SIGNALBOX_CHECK(row.entry.moment <= kMomentMax);
    if (row.kind != RowKind::kMemory) {
      const Deletion deletion = deletion_of(row);
      SIGNALBOX_CHECK(deletion.id.empty() || deletion_id(deletion.id) == row.id);
      continue;
    }
    json::Writer out;
    out.begin_object();
    write_row(row, out);
    out.member("vector", row.record.vector.values).end_object();
    const auto again = json::Document::parse(out.take());
    SIGNALBOX_CHECK(again.has_value());
    const auto same = read_row(again->root(), again->root().find("vector"), query.is_whole);
    SIGNALBOX_CHECK(same.has_value() && same->id == row.id && same->entry == row.entry);
    SIGNALBOX_CHECK(same->record.memory.text == row.record.memory.text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shared_memories;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const RowQuery query{.owner = (data[0] & 1) != 0 ? owner_of("ann") : "",
                       .is_whole = (data[0] & 2) != 0,
                       .most = 8};
  if (const auto reply = stores::read_milvus_reply(200, text)) {
    static_cast<void>(read_milvus_dimension(reply->root()));
    const auto rows = read_milvus_memories(reply->root(), query);
    if (rows) check(*rows, query);
  }
  if (const auto reply = stores::read_qdrant_reply(200, text)) {
    static_cast<void>(read_qdrant_dimension(reply->root()));
    const auto page = read_qdrant_page(reply->root(), query);
    if (page) check(page->rows, query);
  }
  return 0;
}
