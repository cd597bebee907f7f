#pragma once
// Turns the configuration of a Redis or Valkey server into a RedisServer.

#include "base/error.h"
#include "router/config/stores.h"
#include "router/stores/redis.h"
#include "router/stores/seconds.h"

namespace signalbox::stores {

/// Missing keys get the defaults of RedisServer. Reads the TLS files. Errors: kInvalid for an
/// invalid address or an unreadable file, kUnsupported for settings that are not supported.
Result<RedisServer> redis_server(const config::Redis& redis);
Result<RedisServer> valkey_server(const config::Valkey& valkey);

/// Sets the server of a store's options, and their prefix and limits where the configuration has
/// them.
template <class Options>
Result<void> set_redis(const config::Redis& from, Options& into) {
  SIGNALBOX_TRY(into.server, redis_server(from));
  if (!from.key_prefix.empty()) into.prefix = from.key_prefix;
  set_seconds(from.read_timeout, into.read_limit);
  set_seconds(from.write_timeout, into.write_limit);
  return {};
}

}  // namespace signalbox::stores
