#pragma once
// The set of keys in PostgreSQL (12 or newer): the one row of a table. `server_began` is the start
// of the server that changed it last. The set is not changed before `quiet_until`, which is a
// moment after it was restored, or after the first change was tried at another server.

#include <chrono>
#include <memory>
#include <string>

#include "router/shared_keys/key_server.h"
#include "router/stores/postgres.h"

namespace signalbox::shared_keys {

struct PostgresOptions {
  stores::PostgresServer server = {};
  std::string table = "signalbox_keys";
  std::chrono::milliseconds read_limit{1000}, write_limit{1000};  // for each exchange
  std::chrono::milliseconds grace{2000};  // for routers that know a later set
};

/// Errors: those of stores::make_postgres().
Result<std::unique_ptr<KeyServer>> make_postgres_keys(const PostgresOptions& options);

}  // namespace signalbox::shared_keys
