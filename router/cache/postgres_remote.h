#pragma once
// PostgreSQL (12 or newer, no extension): a table of answers, whose sequence numbers are the log
// that all routers read. Near questions are found by the index of each router, so that a plain
// server will do.

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
  std::string ssl_mode = "prefer";               // libpq's sslmode
  std::string table = "signalbox_answers";       // made if it is not there; letters, digits and _
  std::chrono::milliseconds connect_limit{500};  // to connect and log in
  std::chrono::milliseconds look_up_limit{100};  // of get()
  std::chrono::milliseconds write_limit{1000};   // of the others
};

/// Connects when it is first asked. kInvalid for a table that is no name.
Result<std::unique_ptr<Remote>> make_postgres_remote(PostgresOptions options);

}  // namespace signalbox::cache
