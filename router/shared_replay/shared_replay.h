#pragma once
// Records of requests on a server, which several routers write and read, and which outlive them.
//
// Records are written in the background, so no request waits for them. While the server accepts
// none, they wait in the router for some minutes. Records that the server loses are lost, but
// deletions are not: after each lost connection, a router repeats the deletions that it knows.

#include <chrono>
#include <memory>

#include "router/config/services.h"
#include "router/observe/replay.h"
#include "router/shared_replay/replay_server.h"

namespace signalbox::shared_replay {

class SharedReplay : public observe::Replay {
 public:
  /// Waits until everything is written, but not longer than `until`. Logs and returns the number of
  /// unwritten records.
  virtual size_t drain(std::chrono::steady_clock::time_point until) = 0;
};

struct SharingOptions {
  size_t waiting_bytes = size_t{16} << 20;  // of records that are not written yet
  /// Half of kArrivesWithin, so that no deleted record is written.
  std::chrono::milliseconds waits_max{kArrivesWithin / 2};
  std::chrono::milliseconds grace{1000};  // before records are read: deletions come first
};
/// Connects in the background.
std::unique_ptr<SharedReplay> share_replay(std::unique_ptr<ReplayServer> server,
                                           const SharingOptions& options = {});

/// As configured. Precondition: replay.is_shared(). Errors: those of redis_server(),
/// postgres_server() and make_postgres(), with the key in the file.
Result<std::unique_ptr<SharedReplay>> open(const config::RouterReplay& replay);

}  // namespace signalbox::shared_replay
