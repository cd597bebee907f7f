#pragma once
// Stored responses in Redis (or Valkey, 5 or newer).
//
//   PREFIX r:ID      the record of a response, which expires by itself
//   PREFIX d:ID      there if the response was deleted, until its record would have expired
//   PREFIX deleted   a stream of the same ids, which every router follows

#include <memory>
#include <string>

#include "router/shared_responses/response_server.h"
#include "router/stores/redis.h"

namespace signalbox::shared_responses {

struct RedisOptions {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:responses:";
  std::chrono::milliseconds read_limit{500}, write_limit{500};  // for each exchange
};

/// Connects at the first call.
std::unique_ptr<ResponseServer> make_redis_responses(RedisOptions options);

}  // namespace signalbox::shared_responses
