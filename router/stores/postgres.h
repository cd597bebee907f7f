#pragma once
// A client for PostgreSQL (12 or newer). It sends single statements over kept connections, and
// makes the table that they use. All clients of one server with one login share the kept
// connections. Each exchange has a time limit, in however many pieces it arrives.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/stores.h"
#include "router/stores/seconds.h"

namespace signalbox::stores {

struct PostgresServer {
  std::string host = {};  // a name, an address, or a folder with a socket
  uint16_t port = 5432;
  std::string database = {}, user = {}, password = {};
  std::string ssl_mode = "prefer";               // libpq's sslmode
  std::string ssl_root_cert = {};                // PEM file; "": libpq's default
  std::chrono::milliseconds connect_limit{500};  // to connect and log in
  /// After this time, the server ends a statement. It does not notice that a client waits no
  /// longer, so each call that waits for a locked table would leave a process there.
  std::chrono::milliseconds statement_max{10'000};
};

/// A table, and the statements that make it and others beside it, each with "{0}" in the place of
/// its name. They change nothing that is there already.
struct PostgresTable {
  std::string name;
  std::vector<std::string> statements;
  int version = 0;  // in the row of the table; other versions are refused. 0: it has none
};

/// Thread-safe; calls block. Connects at the first call. Errors: kInvalid (the table's name), kIo
/// (refused, broken), kDeadline, kUpstream (the server returned an error, and has done nothing),
/// kCorrupt (the table's version). A statement is sent once more if a kept connection turns out to
/// be closed, or if the server has no such table, which is made then; so all statements must be
/// repeatable.
class Postgres {
 public:
  using Row = std::vector<std::string>;  // bytes; null is ""
  using Parameters = std::initializer_list<std::string_view>;

  virtual ~Postgres() = default;
  /// `lock` is a statement that runs before the other one in its transaction; "": none. So the
  /// other one finds all that was committed until the lock was given.
  virtual Result<std::vector<Row>> run(const std::string& statement, Parameters parameters,
                                       std::chrono::milliseconds limit,
                                       const std::string& lock = {}) = 0;
  /// For log lines: "postgres 127.0.0.1:5432".
  virtual const std::string& name() const = 0;
};

/// Errors: kInvalid for a name that is not config::is_table_name(); kUnsupported if the program was
/// built without libpq.
Result<std::unique_ptr<Postgres>> make_postgres(PostgresServer server, PostgresTable table);

/// Missing keys get the defaults of PostgresServer. Errors: kInvalid without a host.
Result<PostgresServer> postgres_server(const config::Postgres& postgres);

/// Sets the server of a store's options, and their table and limits where the configuration has
/// them.
template <class Options>
Result<void> set_postgres(const config::Postgres& from, Options& into) {
  SIGNALBOX_TRY(into.server, postgres_server(from));
  if (!from.table_name.empty()) into.table = from.table_name;
  set_seconds(from.read_timeout, into.read_limit);
  set_seconds(from.write_timeout, into.write_limit);
  auto& statement_max = into.server.statement_max;
  statement_max = std::max({statement_max, into.read_limit, into.write_limit});
  return {};
}

/// The number in a cell; 0 if there is none.
template <class Number = uint64_t>
Number number_of(std::string_view text) {
  Number out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace signalbox::stores
