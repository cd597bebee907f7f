#pragma once
// Stores answers in a PostgreSQL table (version 12 or newer, no extension). Its sequence numbers
// form the log that all routers read. Each router finds similar questions in its own index, so a
// plain server is sufficient.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "router/cache/remote.h"

namespace signalbox::cache {

struct PostgresOptions {
  std::string host = {};  // a name, an address, or a folder with a socket
  uint16_t port = 5432;
  std::string database = {}, user = {}, password = {};
  std::string ssl_mode = "prefer";          // libpq's sslmode
  std::string table = "signalbox_answers";  // created if it does not exist; letters, digits and _
  std::chrono::milliseconds connect_limit{500};  // to connect and log in
  std::chrono::milliseconds look_up_limit{100};  // of get()
  std::chrono::milliseconds write_limit{1000};   // for the other methods
};

/// Connects at the first call. kInvalid for an invalid table name.
Result<std::unique_ptr<Remote>> make_postgres_remote(PostgresOptions options);

}  // namespace signalbox::cache
