#pragma once
// Memories in Redis (or Valkey, 5 or newer), which several routers find and which outlive them.
// OWNER is the SHA-256 of the user's name.
//
//   PREFIX u:OWNER   a hash from the ids of the user's memories to their entries (record.h), and
//                    from "v" to the version of the hash
//   PREFIX m:ID      the record of a memory (record.h), which expires when its age is over
//   PREFIX d:ID      there for a day if the memory was deleted
//   PREFIX f:OWNER   the moment at which the user has deleted everything, for a day
//   PREFIX clock     the newest moment of all `f:`
//   PREFIX deleted   a stream of the deletions, which every router follows
//
// A router keeps copies of the memories that it has read, with an index of their vectors, and of
// the hashes. Each search first reads the version, then the hash if the version has changed, and
// returns only memories that the hash lists. So no router serves a memory after another router has
// confirmed its deletion, and none serves any without Redis. Memories are written in the
// background, and wait while Redis accepts none. A deletion is confirmed when Redis has it. If
// Redis has lost data, each router deletes again what it knows to be deleted, and then writes again
// the newest memories that it has written. Until then it reads none, because another router may
// know more deletions.

#include <chrono>
#include <memory>
#include <string>

#include "router/config/stores.h"
#include "router/memories/memories.h"
#include "router/stores/redis.h"

namespace signalbox::shared_memories {

struct Options {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:memories:";
  std::chrono::milliseconds read_limit{500}, write_limit{500};  // for each exchange
  size_t waiting_bytes = size_t{32} << 20;  // of changes that are not written yet
  size_t journal_bytes = size_t{32} << 20;  // of memories to write again if Redis loses them
  std::chrono::milliseconds grace{1000};    // before that and before reads: deletions come first
};

class SharedMemories : public memories::Memories {
 public:
  /// Waits until everything is written, but not longer than `until`. Logs and returns the number of
  /// unwritten changes.
  virtual size_t drain(std::chrono::steady_clock::time_point until) = 0;
};

/// Connects in the background.
std::unique_ptr<SharedMemories> make_redis_memories(Options options);

/// As configured. Precondition: is_shared(store). Errors: those of redis_server() and
/// make_milvus_rows(), with the key in the file.
Result<std::unique_ptr<SharedMemories>> open(const config::MemoryStore& store);

}  // namespace signalbox::shared_memories
