#pragma once
// The set of keys in Redis (or Valkey, 5 or newer):
//
//   PREFIX set       a hash: epoch, version, digest and text of the set, and the run of the server
//                    that changed it last
//   PREFIX restored  exists for a moment after the set was restored, or after the first change was
//                    tried at another server; meanwhile the set is not changed

#include <chrono>
#include <memory>
#include <string>

#include "router/shared_keys/key_server.h"
#include "router/stores/redis.h"

namespace signalbox::shared_keys {

struct RedisOptions {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:keys:";
  std::chrono::milliseconds limit{500};   // for each exchange
  std::chrono::milliseconds grace{2000};  // for routers that know a later set
};

std::unique_ptr<KeyServer> make_redis_keys(RedisOptions options);

}  // namespace signalbox::shared_keys
