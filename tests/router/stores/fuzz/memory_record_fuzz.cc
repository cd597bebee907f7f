// Feeds arbitrary bytes as records and index entries of memories, and as names of deletions. If the
// bytes can be read, writing the result must give the same bytes.

#include <cstdint>
#include <string_view>

#include "router/shared_memories/journal.h"
#include "router/shared_memories/record.h"

namespace shared = signalbox::shared_memories;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto record = shared::read_record(bytes))
    SIGNALBOX_CHECK(shared::write_record(*record) == bytes);
  if (const auto entry = shared::read_entry(bytes))
    SIGNALBOX_CHECK(shared::write_entry(*entry) == bytes);
  const shared::Deletion deletion = shared::read_deletion(bytes);
  SIGNALBOX_CHECK(deletion.owner.empty() ||
                  shared::read_deletion(deletion.name()).name() == deletion.name());
  return 0;
}
