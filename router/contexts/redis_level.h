#pragma once
// Contexts in Redis (or Valkey, 5 or newer), each a record (record.h) that expires by itself:
//
//   PREFIX c:NAME    the record; NAME is name_of() its key
//   PREFIX d:NAME    when it was dropped, for routers that were away meanwhile
//   PREFIX names     a set of what may be there
//   PREFIX pins      a set of what is pinned, which does not expire
//   PREFIX log       a stream that tells routers what others have done
//
// No record is believed that does not have the sum and the id that it says.

#include <memory>

#include "router/contexts/shared_level.h"
#include "router/stores/redis.h"

namespace signalbox::contexts {

struct RedisLevelOptions {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:contexts:";
  std::chrono::milliseconds read_limit{500};    // of each exchange
  std::chrono::milliseconds write_limit{1000};  // of those that change something
  int compression = 3;                          // of Zstandard
};

/// Connects when it is first asked. Leaves a server that fails alone for a while.
std::unique_ptr<SharedLevel> make_redis_level(RedisLevelOptions options);

}  // namespace signalbox::contexts
