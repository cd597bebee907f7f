#pragma once
// Stores answers in Redis or a compatible server (Valkey; 5 or newer). An answer is a string with
// an expiry, and one stream reports the heads of new answers to all routers. Only core commands are
// used (GET, SET, DEL, XADD, XREAD), so a plain server is sufficient.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "router/cache/remote.h"
#include "router/stores/redis.h"

namespace signalbox::cache {

struct RedisOptions {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:answers:";     // for every key
  std::chrono::milliseconds look_up_limit{100};  // for get()
  std::chrono::milliseconds write_limit{1000};   // for put() and remove()
  uint64_t log_max = 100'000;  // approximate number of heads in the stream; the oldest are dropped
};

/// Connects at the first call.
std::unique_ptr<Remote> make_redis_remote(RedisOptions options);

}  // namespace signalbox::cache
