// An address is host:port, or a host whose port is a key of its own.

#include "router/stores/redis_config.h"

#include "router/config/endpoint.h"

namespace signalbox::stores {

Result<RedisServer> redis_server(const config::Redis& redis) {
  RedisServer out;
  if (redis.cluster_mode) return fail(Code::kUnsupported, "redis.cluster_mode is not supported");
  if (!redis.address.empty()) {
    SIGNALBOX_TRY(const config::Endpoint endpoint, config::parse_endpoint(redis.address, false));
    out.host = endpoint.host;
    if (redis.address.find(':') != std::string::npos) out.port = endpoint.port;
  } else {
    out.host = redis.host;
    if (redis.port != 0) out.port = redis.port;
  }
  if (out.host.empty()) return fail(Code::kInvalid, "redis: an address or a host is required");
  out.username = redis.username;
  out.password = redis.password;
  out.db = redis.db;
  set_seconds(redis.dial_timeout, out.connect_limit);
  if (redis.use_tls) {
    auto tls = Tls::create({.authorities = redis.tls_ca_path,
                            .certificate = redis.tls_cert_path,
                            .key = redis.tls_key_path,
                            .verifies = !redis.tls_skip_verify});
    if (!tls) return fail_in("redis.use_tls", std::move(tls).error());
    out.tls = *std::move(tls);
  }
  return out;
}

Result<RedisServer> valkey_server(const config::Valkey& valkey) {
  RedisServer out;
  if (valkey.host.empty()) return fail(Code::kInvalid, "valkey: a host is required");
  out.host = valkey.host;
  out.port = valkey.port;
  out.password = valkey.password;
  out.db = valkey.database;
  set_seconds(valkey.connect_timeout, out.connect_limit);
  if (valkey.tls_enabled) {
    auto tls = Tls::create(
        {.authorities = valkey.tls_ca_path, .verifies = !valkey.tls_insecure_skip_verify});
    if (!tls) return fail_in("valkey.tls_enabled", std::move(tls).error());
    out.tls = *std::move(tls);
  }
  return out;
}

}  // namespace signalbox::stores
