// An address is host:port, or a host with a port of its own.

#include "router/remote/redis_config.h"

#include "router/config/endpoint.h"

namespace signalbox::remote {

void set_seconds(uint32_t seconds, std::chrono::milliseconds& into) {
  if (seconds != 0) into = std::chrono::seconds(seconds);
}

Result<RedisServer> redis_server(const config::Redis& redis) {
  RedisServer out;
  if (redis.use_tls) return fail(Code::kUnsupported, "redis.use_tls: TLS to Redis is not built");
  if (redis.cluster_mode) return fail(Code::kUnsupported, "redis.cluster_mode is not built");
  if (!redis.address.empty()) {
    SIGNALBOX_TRY(const config::Endpoint endpoint, config::parse_endpoint(redis.address, false));
    out.host = endpoint.host;
    if (redis.address.find(':') != std::string::npos) out.port = endpoint.port;
  } else {
    out.host = redis.host;
    if (redis.port != 0) out.port = redis.port;
  }
  if (out.host.empty()) return fail(Code::kInvalid, "redis: it needs an address or a host");
  out.username = redis.username;
  out.password = redis.password;
  out.db = redis.db;
  set_seconds(redis.dial_timeout, out.connect_limit);
  return out;
}

}  // namespace signalbox::remote
