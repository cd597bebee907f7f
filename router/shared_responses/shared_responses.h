#pragma once
// Stored responses on a server, so that every router can continue them.
//
// A router also keeps its own responses in memory. While the server is away, the router continues
// those, and it writes new ones when the server is back. If the server has lost data, each router
// restores the deletions and the responses that it has. Until then no router reads from the server,
// because another router may know more deletions.

#include <chrono>
#include <memory>

#include "router/config/services.h"
#include "router/dialects/response_store.h"
#include "router/shared_responses/response_server.h"

namespace signalbox::shared_responses {

class Sharing : public dialects::SharedResponses {
 public:
  /// Waits until everything is written, but not longer than `until`. Logs and returns the number of
  /// unwritten responses.
  virtual size_t drain(std::chrono::steady_clock::time_point until) = 0;
};

struct SharingOptions {
  size_t waiting_bytes = size_t{64} << 20;  // of responses that are not written yet
  std::chrono::milliseconds grace{1000};  // before they are restored or read: deletions come first
};
/// Connects in the background. `here` holds the responses of this router; it outlives the result,
/// which does not call share().
std::unique_ptr<Sharing> share_responses(std::unique_ptr<ResponseServer> server,
                                         dialects::ResponseStore& here,
                                         const SharingOptions& options = {});

/// As configured; null: responses stay in this router. Errors: those of redis_server(),
/// postgres_server() and make_postgres(), with the key in the file.
Result<std::unique_ptr<Sharing>> open(const config::ResponseApi& config,
                                      dialects::ResponseStore& here);

}  // namespace signalbox::shared_responses
