#pragma once
// Stored responses in PostgreSQL (12 or newer), in the table NAME_responses and those of the feed
// (stores/postgres_feed.h). A row without a record is a response that was deleted, until its record
// would have expired.

#include <memory>
#include <string>

#include "router/shared_responses/response_server.h"
#include "router/stores/postgres.h"

namespace signalbox::shared_responses {

struct PostgresOptions {
  stores::PostgresServer server = {};
  std::string table = "signalbox_responses";
  // A commit waits for a disk.
  std::chrono::milliseconds read_limit{500}, write_limit{2000};
};

/// Connects at the first call. Errors: those of stores::make_postgres().
Result<std::unique_ptr<ResponseServer>> make_postgres_responses(const PostgresOptions& options);

}  // namespace signalbox::shared_responses
