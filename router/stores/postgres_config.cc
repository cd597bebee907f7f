// Turns the configuration of a PostgreSQL server into a PostgresServer.

#include "router/stores/postgres.h"

namespace signalbox::stores {

Result<PostgresServer> postgres_server(const config::Postgres& postgres) {
  PostgresServer out;
  if (postgres.host.empty()) return fail(Code::kInvalid, "postgres: it needs a host");
  out.host = postgres.host;
  out.port = postgres.port;
  out.database = postgres.database;
  out.user = postgres.user;
  out.password = postgres.password;
  if (!postgres.ssl_mode.empty()) out.ssl_mode = postgres.ssl_mode;
  out.ssl_root_cert = postgres.ssl_root_cert;
  set_seconds(postgres.dial_timeout, out.connect_limit);
  return out;
}

}  // namespace signalbox::stores
