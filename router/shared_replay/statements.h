#pragma once
// The tables of the records in PostgreSQL, and the statements that use them. Moments are in
// milliseconds since 1970.

#include <string>

#include "router/stores/postgres.h"

namespace signalbox::shared_replay {

/// The most records that one statement removes.
inline constexpr size_t kRemovedAtOnce = 1000;

struct Statements {
  explicit Statements(const std::string& name);

  /// A statement that adds a record or a shadow runs after `lock_shared`, one that removes records
  /// or texts after `lock`.
  std::string lock_shared, lock;
  /// $1: id; $2: record; $3: indices; $4: scopes; $5: age; $6: lifetime (0: none); $7: lifetime of
  /// the texts (0: none of their own); $8 to $11: the request's body, "true" if it was cut, and the
  /// same of the reply.
  std::string add;
  /// $1: lifetime (0: none); $2: offset; $3: limit; $4: indices, only in the second. Returns the
  /// number of all, and a record or null.
  std::string list_all, list;
  /// $1: id. Returns rows of a kind, a number, the bytes, and "true" for a text that was cut or a
  /// record that has had texts.
  std::string find;
  /// $1: moment (0: now); $2: scope; $3: indices. Returns the number of the deleted records, and
  /// the moment. The first one also announces the deletion.
  std::string remove_first, remove;
  /// $1: id; $2: outcome; $3: a token, the same for each attempt. Returns "true" if it was added.
  std::string add_outcome;
  /// $1: id; $2: shadow; $3: a token; $4: its text. Returns "true" if there is the record.
  std::string add_shadow;
  /// The first removes texts that have expired. The second removes deletions that are so old that
  /// no record to which they apply can still arrive.
  std::string drop_texts, drop_forgotten;
  /// $1: the most records. Also removes what has expired.
  std::string drop_records;
  /// $1: the most bytes.
  std::string drop_bytes;
};

stores::PostgresTable tables(const std::string& name);

}  // namespace signalbox::shared_replay
