#pragma once
// Which server a `redis` of the configuration means.

#include "base/error.h"
#include "router/config/stores.h"
#include "router/stores/redis.h"

namespace signalbox::stores {

/// Keys that are missing have the defaults of RedisServer. Reads the files of TLS. Errors: kInvalid
/// for an address that is none and a file that cannot be read, kUnsupported for what is not built.
Result<RedisServer> redis_server(const config::Redis& redis);
Result<RedisServer> valkey_server(const config::Valkey& valkey);

/// Nothing happens where `seconds` is 0, which stands for a key that is missing.
void set_seconds(uint32_t seconds, std::chrono::milliseconds& into);

}  // namespace signalbox::stores
