#pragma once
// Stores answers in a PostgreSQL table (version 12 or newer, no extension). Its sequence numbers
// form the log that all routers read. Each router finds similar questions in its own index, so a
// plain server is sufficient.

#include <chrono>
#include <memory>
#include <string>

#include "router/cache/remote.h"
#include "router/stores/postgres.h"

namespace signalbox::cache {

struct PostgresOptions {
  stores::PostgresServer server = {};
  std::string table = "signalbox_answers";    // created if it does not exist; letters, digits and _
  std::chrono::milliseconds read_limit{100};  // of get()
  std::chrono::milliseconds write_limit{1000};  // for the other methods
};

/// Connects at the first call. Errors: those of make_postgres().
Result<std::unique_ptr<Remote>> make_postgres_remote(const PostgresOptions& options);

}  // namespace signalbox::cache
