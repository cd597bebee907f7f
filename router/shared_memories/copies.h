#pragma once
// A router's copies of memories that a server holds. A search returns only copies that the server's
// index of the user lists.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/memories/local_memories.h"
#include "router/shared_memories/record.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_memories {

using Index = std::map<std::string, IndexEntry, std::less<>>;  // by id
using Records = std::vector<std::pair<std::string, Record>>;
/// Reads the records of some ids, at most kAtOnce. Those that the server no longer has are missing.
using ReadRecords = std::function<Result<Records>(std::span<const std::string>)>;

/// The place in the file, for the log.
inline constexpr std::string_view kSection = "global.stores.memory";
inline constexpr stores::WriteQueue::Words kWords{.area = "memory",
                                                  .section = kSection,
                                                  .records = "memories",
                                                  .meanwhile = "wait in this router",
                                                  .unwritten = "are lost"};
inline constexpr size_t kAtOnce = 64;  // records in one exchange
/// A write that waits longer is dropped. Deletions are remembered for a longer time, so no late
/// write undoes one.
inline constexpr std::chrono::hours kWaitsMax{12};

/// Return the errors for clients: the server cannot be read, or it accepts no deletion.
tl::unexpected<Error> unreadable();
tl::unexpected<Error> not_deleted();

/// Makes the record of a new memory and its first entry in the index. Errors: those of
/// check_vector().
Result<std::pair<Record, IndexEntry>> new_record(std::string_view user, memories::Memory memory,
                                                 const memories::Vector& vector, uint64_t moment,
                                                 memories::TimePoint now);

/// Returns the limits of the copies. The limits of age and of memories per user are removed,
/// because the index applies them.
memories::MemoryLimits limits_of_copies(const memories::MemoryLimits& limits);

/// Removes the copies that the index does not list, and adds those that are missing.
Result<void> bring_copies(memories::LocalMemories& copies, const std::string& owner,
                          const Index& index, const ReadRecords& read, memories::TimePoint now);

/// Searches the copies, and returns only memories that the index lists. See Memories::search().
Result<std::vector<memories::Found>> search_copies(memories::LocalMemories& copies,
                                                   const std::string& owner, const Index& index,
                                                   const memories::Vector& vector, size_t most,
                                                   double similarity_min,
                                                   const memories::WordQuery* words,
                                                   memories::TimePoint now);

/// Returns the newest memories of an index, at most `most`, and reads kAtOnce of them at a time.
Result<memories::Memories::Page> newest_of(const Index& index, size_t most,
                                           const ReadRecords& read);
/// nullopt if the index has no such memory.
Result<std::optional<memories::Memory>> one_of(const Index& index, std::string_view id,
                                               const ReadRecords& read);

}  // namespace signalbox::shared_memories
