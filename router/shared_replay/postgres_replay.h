#pragma once
// Records of requests in PostgreSQL (12 or newer), in tables that begin with NAME beside those of
// the feed (stores/postgres_feed.h).
//
//   NAME_records     a row for each record: its moments, indices, JSON and bytes
//   NAME_parts       what belongs to a record: bodies, outcomes, shadows and their texts
//   NAME_forgotten   the moments before which records were deleted, for a minute
//
// The bounds of records and bytes are applied about once a second, by every router.

#include <chrono>
#include <memory>
#include <string>

#include "router/shared_replay/replay_server.h"
#include "router/stores/postgres.h"

namespace signalbox::shared_replay {

struct PostgresOptions {
  stores::PostgresServer server = {};
  std::string table = "signalbox_replay";
  // A commit waits for a disk.
  std::chrono::milliseconds read_limit{500}, write_limit{2000};
};

/// Connects at the first call. Errors: those of stores::make_postgres().
Result<std::unique_ptr<ReplayServer>> make_postgres_replay(const PostgresOptions& options);

}  // namespace signalbox::shared_replay
