#pragma once
// Redis, or what speaks its protocol (Valkey, 5 or newer): an answer is a string that expires by
// itself, and beside them one stream tells all routers of heads. Nothing but core commands is used
// (GET, SET, DEL, XADD, XREAD), so a plain server will do.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "router/cache/remote.h"
#include "router/stores/redis.h"

namespace signalbox::cache {

struct RedisOptions {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:answers:";     // of every key
  std::chrono::milliseconds look_up_limit{100};  // of get()
  std::chrono::milliseconds write_limit{1000};   // of put() and remove()
  uint64_t log_max = 100'000;                    // heads in the stream, about; the oldest go
};

/// Connects when it is first asked.
std::unique_ptr<Remote> make_redis_remote(RedisOptions options);

}  // namespace signalbox::cache
