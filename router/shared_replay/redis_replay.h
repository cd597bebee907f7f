#pragma once
// Records of requests in Redis (or Valkey, 5 or newer), which several routers write and read, and
// which outlive them.
//
//   PREFIX r:ID      a hash: the record as JSON (j), its indices (i), whether it has had texts (b),
//                    and when they end (e)
//   PREFIX b:ID      a hash: the bodies of the request and of the reply, and the texts of shadows
//   PREFIX o:ID      a list of what was reported about the answer, as JSON
//   PREFIX s:ID      a list of the shadows, as JSON
//   PREFIX all       a sorted set of all ids, by the time at which the request ended
//   PREFIX i:NAME    the same for a decision, a model, a user or a key (record.h)
//   PREFIX sizes     a hash: the bytes of each record (ID) and of its texts (b:ID)
//   PREFIX bytes     the sum of these
//   PREFIX ends      a sorted set of the ids whose texts end before their record, by that moment
//   PREFIX f:SCOPE   the moment before which records were deleted, for a minute
//   PREFIX deleted   a stream of the deletions, which every router follows
//
// Records are written in the background, and dropped while Redis takes none: no request waits for
// them. What Redis loses is lost, but no deletion is: a router whose connection was lost repeats
// those that it knows.

#include <chrono>
#include <memory>
#include <string>

#include "router/config/services.h"
#include "router/observe/replay.h"
#include "router/stores/redis.h"

namespace signalbox::shared_replay {

struct Options {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:replay:";
  std::chrono::milliseconds read_limit{500}, write_limit{500};  // for each exchange
  size_t waiting_bytes = size_t{16} << 20;  // of records that are not written yet
  std::chrono::milliseconds waits_max{5000};
  std::chrono::milliseconds grace{1000};  // before records are read: deletions come first
};

class SharedReplay : public observe::Replay {
 public:
  /// Waits until everything is written, and logs how much is not. Returns that number.
  virtual size_t drain(std::chrono::steady_clock::time_point until) = 0;
};

/// Connects in the background.
std::unique_ptr<SharedReplay> make_redis_replay(Options options);

/// As configured. Precondition: replay.is_shared(). Errors: those of redis_server(), with the key
/// in the file.
Result<std::unique_ptr<SharedReplay>> open(const config::RouterReplay& replay);

}  // namespace signalbox::shared_replay
