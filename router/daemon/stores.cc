// A pair is made only after its store is open, so that an error leaves nothing half open.

#include "router/daemon/stores.h"

#include "router/memories/local_memories.h"
#include "router/shared_spending/postgres_spending.h"

namespace signalbox::daemon {

Result<std::unique_ptr<spending::Ledger>> open_ledger(const config::Config& config) {
  if (!config.spending) return nullptr;
  if (config.spending->is_common()) {
    SIGNALBOX_TRY(auto store, shared_spending::open_store(*config.spending));
    auto shared = spending::Ledger::open(std::move(store), config.spending->budgets);
    if (!shared) return fail_in("global.spending.postgres", std::move(shared).error());
    return shared;
  }
  auto opened = spending::Ledger::open(spending::file_of(*config.spending, config.source));
  if (!opened) return fail(opened.error().code, "global.spending.file: {}", opened.error().message);
  return opened;
}

Result<std::pair<std::unique_ptr<memories::Memories>, shared_memories::SharedMemories*>>
open_memories(const config::MemoryStore& store) {
  if (!config::is_shared(store))
    return std::pair(std::make_unique<memories::LocalMemories>(), nullptr);
  SIGNALBOX_TRY(auto shared, shared_memories::open(store));
  shared_memories::SharedMemories* const opened = shared.get();
  return std::pair(std::move(shared), opened);
}

Result<std::pair<std::unique_ptr<observe::Replay>, shared_replay::SharedReplay*>> open_replay(
    const config::RouterReplay& config) {
  if (!config.is_shared()) return std::pair(std::make_unique<observe::LocalReplay>(), nullptr);
  SIGNALBOX_TRY(auto shared, shared_replay::open(config));
  shared_replay::SharedReplay* const opened = shared.get();
  return std::pair(std::move(shared), opened);
}

}  // namespace signalbox::daemon
