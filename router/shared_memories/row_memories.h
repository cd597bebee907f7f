#pragma once
// Memories in a server that holds rows (rows.h), which several routers find and which outlive them.
//
// Such a server has no scripts, so no change of several rows is one step. Instead, each read sends
// one query, which returns the rows of a user after all acknowledged changes. A memory counts if no
// row remembers its deletion, and if no deletion of everything is later than the moment at which
// its turn began. A write that was under way, or that is repeated, therefore brings no memory back
// while its deletion is remembered, and no write takes that long. A deletion is confirmed when the
// server has its row and returns it.
//
// A router keeps copies of the memories that it has read, as with Redis (redis_memories.h). A
// search returns only copies whose rows its query has returned. A thread reads the deletions of all
// routers; the server works if these reads succeed. When the server comes back, it may have older
// data. So the thread first repeats the deletions that the router knows, and nothing is read until
// the other routers have had time to do the same. Then the thread restores the newest memories of
// this router that the server has lost.

#include <chrono>
#include <memory>

#include "router/shared_memories/redis_memories.h"
#include "router/shared_memories/rows.h"

namespace signalbox::shared_memories {

struct RowOptions {
  size_t dimension = 0;  // of a new collection; 0: that of the first vector
  size_t waiting_bytes = size_t{32} << 20;
  size_t journal_bytes = size_t{32} << 20;
  std::chrono::milliseconds poll_every{250}, grace{1000}, purge_every{60'000};
};

/// Connects in the background.
std::unique_ptr<SharedMemories> make_row_memories(std::unique_ptr<RowServer> server,
                                                  const RowOptions& options);

}  // namespace signalbox::shared_memories
