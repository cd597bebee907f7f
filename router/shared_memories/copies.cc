// Another thread may change the copies by an older index meanwhile, so each search checks its
// results against its own index again.

#include "router/shared_memories/copies.h"

#include <algorithm>

namespace signalbox::shared_memories {
namespace {

using memories::Found;
using memories::Memories;
using memories::Memory;
using memories::TimePoint;

void take_uses(const IndexEntry& from, Memory& to) {
  to.used = from.used;
  to.uses = from.uses;
}

}  // namespace

tl::unexpected<Error> unreadable() {
  return fail(Code::kUpstream, "the store of memories, which routers share, does not respond");
}

tl::unexpected<Error> not_deleted() {
  return fail(Code::kUpstream,
              "nothing is deleted, because the store of memories, which routers share, takes no "
              "changes now");
}

Result<std::pair<Record, IndexEntry>> new_record(std::string_view user, Memory memory,
                                                 const memories::Vector& vector, uint64_t moment,
                                                 TimePoint now) {
  SIGNALBOX_TRY_VOID(check_vector(vector));
  const TimePoint at = from_ms(to_ms(now));
  IndexEntry entry{.created = at, .used = at, .digest = digest_of(memory.text), .moment = moment};
  memory.created = memory.used = at;
  return std::pair(Record{owner_of(user), std::move(memory), vector}, std::move(entry));
}

memories::MemoryLimits limits_of_copies(const memories::MemoryLimits& limits) {
  memories::MemoryLimits out = limits;
  out.of_user = limits.total;
  out.retention_min = 0;
  return out;
}

Result<void> bring_copies(memories::LocalMemories& copies, const std::string& owner,
                          const Index& index, const ReadRecords& read, TimePoint now) {
  const std::vector<std::string> copied = copies.ids(owner);
  for (const std::string& id : copied) {
    if (!index.contains(id)) static_cast<void>(copies.forget(owner, id));
  }
  std::vector<std::string> missing;
  for (const auto& [id, entry] : index) {
    if (!std::ranges::binary_search(copied, id)) missing.push_back(id);
  }
  for (size_t i = 0; i < missing.size(); i += kAtOnce) {
    const std::span<const std::string> part(missing.data() + i,
                                            std::min(kAtOnce, missing.size() - i));
    SIGNALBOX_TRY(auto records, read(part));
    for (auto& [id, record] : records) {
      // Ignore an error: a vector of the wrong length for its model cannot be compared with any
      // other.
      static_cast<void>(copies.keep(owner, std::move(record.memory), record.vector, now));
    }
  }
  return {};
}

Result<std::vector<Found>> search_copies(memories::LocalMemories& copies, const std::string& owner,
                                         const Index& index, const memories::Vector& vector,
                                         size_t most, double similarity_min,
                                         const memories::WordQuery* words, TimePoint now) {
  SIGNALBOX_TRY(auto found, copies.search(owner, vector, most, similarity_min, words, now));
  std::erase_if(found, [&](const Found& each) { return !index.contains(each.memory.id); });
  for (Found& each : found) take_uses(index.find(each.memory.id)->second, each.memory);
  return found;
}

Result<Memories::Page> newest_of(const Index& index, size_t most, const ReadRecords& read) {
  std::vector<std::string> ids;
  for (const auto& [id, entry] : index) ids.push_back(id);
  std::ranges::stable_sort(ids, std::greater<>(),
                           [&](const std::string& id) { return index.find(id)->second.created; });
  ids.resize(std::min(ids.size(), most));
  Memories::Page out{.total = index.size()};
  for (size_t i = 0; i < ids.size(); i += kAtOnce) {
    SIGNALBOX_TRY(auto records, read({ids.data() + i, std::min(kAtOnce, ids.size() - i)}));
    for (auto& [id, record] : records) {
      take_uses(index.find(id)->second, record.memory);
      out.memories.push_back(std::move(record.memory));
    }
  }
  return out;
}

Result<std::optional<Memory>> one_of(const Index& index, std::string_view id,
                                     const ReadRecords& read) {
  const auto entry = index.find(id);
  if (entry == index.end()) return std::nullopt;
  const std::string wanted(id);
  SIGNALBOX_TRY(auto records, read({&wanted, 1}));
  if (records.empty()) return std::nullopt;
  Memory out = std::move(records.front().second.memory);
  take_uses(entry->second, out);
  return out;
}

}  // namespace signalbox::shared_memories
