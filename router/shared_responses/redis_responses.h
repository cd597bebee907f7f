#pragma once
// Stored responses in Redis (or Valkey, 5 or newer), so that every router can continue them.
//
//   PREFIX r:ID      the record of a response, which expires by itself
//   PREFIX d:ID      there if the response was deleted, until its record would have expired
//   PREFIX deleted   a stream of the same ids, which every router follows
//
// A router also keeps its own responses in memory. While Redis is away, it continues those, and
// writes new ones when Redis is back. If Redis has lost its data, it gets from each router the
// deletions and the responses that this router has. Until then nothing is read from it, because
// another router may know more deletions.

#include <chrono>
#include <memory>
#include <string>

#include "router/config/services.h"
#include "router/dialects/response_store.h"
#include "router/stores/redis.h"

namespace signalbox::shared_responses {

struct Options {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:responses:";
  std::chrono::milliseconds read_limit{500}, write_limit{500};  // for each exchange
  size_t waiting_bytes = size_t{64} << 20;  // of responses that are not written yet
  std::chrono::milliseconds grace{1000};  // before they are restored or read: deletions come first
};

class Sharing : public dialects::SharedResponses {
 public:
  /// Waits until everything is written, and logs how much is not. Returns that number.
  virtual size_t drain(std::chrono::steady_clock::time_point until) = 0;
};

/// Connects in the background. `here` holds the responses of this router; it outlives the result,
/// which does not call share().
std::unique_ptr<Sharing> make_redis_responses(Options options, dialects::ResponseStore& here);

/// As configured; null: responses stay in this router. Errors: those of redis_server(), with the
/// key in the file.
Result<std::unique_ptr<Sharing>> open(const config::ResponseApi& config,
                                      dialects::ResponseStore& here);

}  // namespace signalbox::shared_responses
