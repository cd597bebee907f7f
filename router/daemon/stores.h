#pragma once
// Opens the stores that the daemon keeps from its start to its end: the ledger, memories of users,
// and records of requests.

#include <memory>
#include <utility>

#include "router/observe/replay.h"
#include "router/shared_memories/redis_memories.h"
#include "router/shared_replay/shared_replay.h"
#include "router/spending/ledger.h"

namespace signalbox::daemon {

/// Returns null if the configuration has no ledger.
Result<std::unique_ptr<spending::Ledger>> open_ledger(const config::Config& config);

/// The second pointer is to the same memories if routers share them, and null otherwise.
Result<std::pair<std::unique_ptr<memories::Memories>, shared_memories::SharedMemories*>>
open_memories(const config::MemoryStore& store);

/// The second pointer is to the same records if routers share them, and null otherwise.
Result<std::pair<std::unique_ptr<observe::Replay>, shared_replay::SharedReplay*>> open_replay(
    const config::RouterReplay& config);

}  // namespace signalbox::daemon
