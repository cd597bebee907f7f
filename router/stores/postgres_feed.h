#pragma once
// The deletions of all routers in two tables of PostgreSQL, for a store whose records have tables
// of the same name with other endings:
//
//   NAME_state       one row: the version of the tables, and the number of the last deletion
//   NAME_deletions   the newest deletions with their numbers
//
// A statement that deletes changes the row of the state and holds it until its end. So deletions
// become visible in the order of their numbers, and a reader misses none.

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/stores/follower.h"
#include "router/stores/postgres.h"

namespace signalbox::stores {

/// Both tables and those that `statements` make ("{0}": NAME).
PostgresTable feed_tables(const std::string& name, int version,
                          std::vector<std::string> statements);

/// The parts of a WITH clause that write deletions and forget those that have expired. `named` is
/// another part, or a list of the columns "name", "ends" (milliseconds since 1970) and "place"
/// (from 1).
std::string announce_deletions(const std::string& name, std::string_view named);

/// An array as a text, for "$1::text::text[]".
std::string array_of(std::span<const std::string> elements);

struct PostgresFeedOptions {
  std::string name = {};
  std::string records = {};  // the table whose column "id" are_there() looks at
  /// Removes what has expired. Called about once a second, on the follower's thread.
  std::function<Result<void>()> clean = {};
  std::string_view area = {};  // of log lines
};
/// `server` outlives it. A life ends when the server starts again, when the tables are made again,
/// and when the number of the last deletion falls.
std::unique_ptr<Feed> make_postgres_feed(Postgres& server, PostgresFeedOptions options);

}  // namespace signalbox::stores
