#pragma once
// Stored responses in Redis (or Valkey, 5 or newer), so that every router can continue them.
//
//   PREFIX r:ID    the record of a response, which expires by itself
//   PREFIX d:ID    there if the response was deleted, as long as a router may still have it
//
// While Redis is away, new responses stay in this router, and are written when it is back.

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
};

std::unique_ptr<dialects::SharedResponses> make_redis_responses(Options options);

/// As configured; null: responses stay in this router. Connects at the first call. Errors: those of
/// redis_server(), with the key in the file.
Result<std::unique_ptr<dialects::SharedResponses>> open(const config::ResponseApi& config);

}  // namespace signalbox::shared_responses
