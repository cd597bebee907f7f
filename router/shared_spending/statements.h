#pragma once
// The tables of the spending in PostgreSQL, and the statements that use them.
//
// Tables, after the name in the configuration:
//   (the name)   the sums of requests, a row for each account and day
//   _shadows     the sums of shadows
//   _totals      what each key, user and group has spent in a day or a month
//   _routers     the last batch of each router
//   _state       one row: the version of these tables, and a number that grows with each batch

#include <string>

#include "router/stores/postgres.h"

namespace signalbox::shared_spending {

/// The version of the tables.
inline constexpr int kVersion = 1;
/// The most rows that one statement returns.
inline constexpr size_t kPageRows = 1'000;

stores::PostgresTable tables(const std::string& name);

/// $1: the router; $2: the number of the batch; $3: its token, which no other batch has; $4: the
/// batch as text_of() writes it. Does nothing if the router has already added this batch or a later
/// one, or if the tables have another version. Returns the version, and "true" if the router's name
/// had added another batch of this number or a later one, so that two processes have this name.
std::string add_statement(const std::string& name);

/// $1, $2: the number and the id after which to begin; $3: the kinds, as an array; $4, $5: the
/// first day of the totals of days and of months. Returns the version, the epoch (another one after
/// each start of the server), the number of the last batch, and the columns of a total with its
/// number and id, or nulls if there is none.
std::string changes_statement(const std::string& name);

/// $1, $2: the day and the id after which to begin; $3: the last day. Returns the id, the day, the
/// texts, the counts and the numbers.
std::string requests_statement(const std::string& name);
std::string shadows_statement(const std::string& name);

/// Returns the version.
std::string version_statement(const std::string& name);

/// $1, $2: the first day of the totals of days and of months that are kept.
std::string clean_totals_statement(const std::string& name);
/// Forgets routers that have written nothing for a hundred days.
std::string clean_routers_statement(const std::string& name);

}  // namespace signalbox::shared_spending
