#pragma once
// Contexts in Redis (or Valkey, 5 or newer). Each is a record (record.h) that expires by itself:
//
//   PREFIX c:NAME    the record; NAME is name_of() of its key
//   PREFIX d:NAME    the time of its drop, for routers that were away
//   PREFIX names     the set of names that may have a record
//   PREFIX pins      the set of pinned names, whose records do not expire
//   PREFIX log       a stream that reports changes to the other routers
//
// A record is used only if its checksum and its id are correct.

#include <memory>

#include "router/contexts/shared_level.h"
#include "router/stores/redis.h"

namespace signalbox::contexts {

struct RedisLevelOptions {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:contexts:";
  std::chrono::milliseconds read_limit{500};    // for each exchange
  std::chrono::milliseconds write_limit{1000};  // for each exchange that changes something
  int compression = 3;                          // the level of Zstandard
};

/// Connects at the first call. Does not call a failing server for a while.
std::unique_ptr<SharedLevel> make_redis_level(RedisLevelOptions options);

}  // namespace signalbox::contexts
