#pragma once
// Records of requests in Redis (or Valkey, 5 or newer).
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

#include <chrono>
#include <memory>
#include <string>

#include "router/shared_replay/replay_server.h"
#include "router/stores/redis.h"

namespace signalbox::shared_replay {

struct RedisOptions {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:replay:";
  std::chrono::milliseconds read_limit{500}, write_limit{500};  // for each exchange
};

/// Connects at the first call.
std::unique_ptr<ReplayServer> make_redis_replay(RedisOptions options);

}  // namespace signalbox::shared_replay
