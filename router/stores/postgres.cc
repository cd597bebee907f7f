// The only file that uses libpq. Its blocking calls have no time limit, so this polls the socket
// instead.

#include "router/stores/postgres.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "router/config/reader.h"

namespace signalbox::stores {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kIdlePostgresMax = 8;
constexpr int kBinary = 1;
constexpr milliseconds kMakeMax{1000};  // to make the table, whatever the limit of the call is
constexpr std::string_view kUndefinedTable = "42P01", kReadOnly = "25006", kShutdown = "57P0";

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using PostgresConnection = std::unique_ptr<PGconn, Finish>;
struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PostgresResult = std::unique_ptr<PGresult, Clear>;

std::string_view field_of(const PGresult& result, int code) {
  const char* const out = PQresultErrorField(&result, code);
  return out == nullptr ? "" : out;
}

std::vector<Postgres::Row> rows_of(const PGresult& result) {
  std::vector<Postgres::Row> out(static_cast<size_t>(PQntuples(&result)));
  for (int row = 0; row < PQntuples(&result); ++row) {
    for (int column = 0; column < PQnfields(&result); ++column)
      out[static_cast<size_t>(row)].emplace_back(
          PQgetvalue(&result, row, column), static_cast<size_t>(PQgetlength(&result, row, column)));
  }
  return out;
}

// Returns false when the time is up.
bool wait_for_socket(PGconn& connection, short events, Clock::time_point until) {
  for (;;) {
    pollfd socket{PQsocket(&connection), events, 0};
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    const int ready = ::poll(&socket, 1, static_cast<int>(left));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

/// Idle connections, shared by all clients of one server.
class IdleConnections {
 public:
  PostgresConnection take() {
    const std::lock_guard lock(mutex_);
    if (all_.empty()) return nullptr;
    PostgresConnection out = std::move(all_.back());
    all_.pop_back();
    return out;
  }
  void give_back(PostgresConnection connection) {
    const std::lock_guard lock(mutex_);
    if (all_.size() < kIdlePostgresMax) all_.push_back(std::move(connection));
  }
  void close_all() {
    const std::lock_guard lock(mutex_);
    all_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<PostgresConnection> all_;
};

/// Most routers have all their stores on one server, which allows few connections, so the stores
/// share them.
std::shared_ptr<IdleConnections> idle_connections_of(const PostgresServer& server) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::weak_ptr<IdleConnections>> all;
  const std::lock_guard lock(mutex);
  auto& known = all[{server.host, std::to_string(server.port), server.database, server.user,
                     server.password, server.ssl_mode, server.ssl_root_cert}];
  std::shared_ptr<IdleConnections> out = known.lock();
  if (out == nullptr) known = out = std::make_shared<IdleConnections>();
  return out;
}

class LibpqPostgres final : public Postgres {
 public:
  LibpqPostgres(PostgresServer server, PostgresTable table)
      : server_(std::move(server)),
        table_(std::move(table)),
        idle_(idle_connections_of(server_)),
        name_(fmt::format("postgres {}:{}", server_.host, server_.port)),
        set_limit_(fmt::format("SELECT set_config('statement_timeout', '{}', true)",
                               server_.statement_max.count())) {}

  Result<std::vector<Row>> run(const std::string& statement, Parameters parameters,
                               milliseconds limit, const std::string& lock) override {
    auto done = run_once(statement, parameters, limit, lock);
    if (done.may_repeat) done = run_once(statement, parameters, limit, lock);
    return std::move(done.rows);
  }
  const std::string& name() const override { return name_; }

 private:
  struct Done {
    Result<std::vector<Row>> rows;
    bool may_repeat = false;
  };

  Done run_once(const std::string& statement, Parameters parameters, milliseconds limit,
                const std::string& lock) {
    const auto until = Clock::now() + limit;
    PostgresConnection connection = idle_->take();
    const bool is_kept = connection != nullptr;
    if (!is_kept) {
      auto made = open_connection(std::min(until, Clock::now() + server_.connect_limit));
      if (!made) return {tl::unexpected(made.error())};
      connection = *std::move(made);
    }
    const auto make_until = std::max(until, Clock::now() + kMakeMax);
    if (const auto made = make_table(*connection, make_until); !made)
      return {tl::unexpected(made.error()), forget(*connection) && is_kept};
    std::string state;
    auto rows = exchange(*connection, statement, parameters, until, lock, &state);
    if (rows) {
      idle_->give_back(std::move(connection));
      return {std::move(rows)};
    }
    if (state == kUndefinedTable) {
      const std::lock_guard making(making_);
      is_made_ = false;
      lacks_table_ = true;
      return {std::move(rows), true};
    }
    // Another server has taken over behind the same address, or will soon.
    const bool is_over = state == kReadOnly || state.starts_with(kShutdown);
    if (is_over) idle_->close_all();
    return {std::move(rows), (forget(*connection) || is_over) && is_kept};
  }

  // Returns true if the connection is broken. Then the server has gone, and the idle connections
  // are broken, too.
  bool forget(const PGconn& connection) {
    if (PQstatus(&connection) != CONNECTION_BAD) return false;
    idle_->close_all();
    return true;
  }

  // The first line of a message has neither the statement's values nor the password.
  tl::unexpected<Error> error_of(Code code, std::string_view message) const {
    return fail(code, "{}: {}", name_, message.substr(0, message.find('\n')));
  }
  tl::unexpected<Error> broken(const PGconn& connection) const {
    return error_of(Code::kIo, PQerrorMessage(&connection));
  }
  tl::unexpected<Error> timed_out() const {
    return fail(Code::kDeadline, "{}: no answer in time", name_);
  }

  Result<PostgresConnection> open_connection(Clock::time_point until) const {
    const std::string port = std::to_string(server_.port);
    const std::array names{"host",
                           "port",
                           "dbname",
                           "user",
                           "password",
                           "sslmode",
                           "sslrootcert",
                           "application_name",
                           static_cast<const char*>(nullptr)};
    const std::array values{server_.host.c_str(),
                            port.c_str(),
                            server_.database.c_str(),
                            server_.user.c_str(),
                            server_.password.c_str(),
                            server_.ssl_mode.c_str(),
                            server_.ssl_root_cert.c_str(),
                            "signalbox",
                            static_cast<const char*>(nullptr)};
    PostgresConnection out(PQconnectStartParams(names.data(), values.data(), 0));
    if (out == nullptr) return error_of(Code::kIo, "no memory");
    PQsetNoticeProcessor(
        out.get(), [](void*, const char*) {}, nullptr);
    for (PostgresPollingStatusType state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
      if (PQstatus(out.get()) == CONNECTION_BAD || state == PGRES_POLLING_FAILED)
        return broken(*out);
      if (!wait_for_socket(*out, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until))
        return timed_out();
      state = PQconnectPoll(out.get());
    }
    if (PQsetnonblocking(out.get(), 1) != 0 || PQenterPipelineMode(out.get()) == 0)
      return broken(*out);
    return out;
  }

  // A login that may only use the table cannot make it, even if it exists. If several routers
  // create it at the same time, PostgreSQL rejects all but one, and a sequence may get another
  // name. The lock prevents that.
  Result<void> make_table(PGconn& connection, Clock::time_point until) {
    const std::lock_guard lock(making_);
    if (is_made_) return {};
    SIGNALBOX_TRY(const auto found,
                  exchange(connection, "SELECT to_regclass($1::text)::text", {table_.name}, until));
    const bool has_first = !found.empty() && !found.front().front().empty();
    if (has_first) SIGNALBOX_TRY_VOID(check_version(connection, until));
    if (!has_first || lacks_table_) {
      std::vector<std::string> all{"BEGIN", "SELECT pg_advisory_xact_lock(hashtext('{0}'))"};
      all.insert(all.end(), table_.statements.begin(), table_.statements.end());
      all.push_back("COMMIT");
      for (const std::string& each : all) {
        SIGNALBOX_TRY(
            const auto rows,
            exchange(connection, fmt::format(fmt::runtime(each), table_.name), {}, until));
      }
      SIGNALBOX_TRY_VOID(check_version(connection, until));
    }
    is_made_ = true;
    lacks_table_ = false;
    return {};
  }

  Result<void> check_version(PGconn& connection, Clock::time_point until) const {
    if (table_.version == 0) return {};
    const std::string select =
        fmt::format("SELECT version::text FROM {} WHERE id = 1", table_.name);
    SIGNALBOX_TRY(const auto found, exchange(connection, select, {}, until));
    const std::string version = found.empty() ? "none" : found.front().front();
    if (version == std::to_string(table_.version)) return {};
    return fail(Code::kCorrupt, "{}: table {}: expected version {} of its form, found {}", name_,
                table_.name, table_.version, version);
  }

  // `state` gets PostgreSQL's code of an error of the server. The statement's time limit is sent
  // before it and ends with it, because a pool between us and the server (pgbouncer) may give the
  // server's connection to another client after each statement.
  Result<std::vector<Row>> exchange(PGconn& connection, const std::string& statement,
                                    Parameters parameters, Clock::time_point until,
                                    const std::string& lock = {},
                                    std::string* state = nullptr) const {
    if (!send(connection, set_limit_, {}) || (!lock.empty() && !send(connection, lock, {})) ||
        !send(connection, statement, parameters) || PQpipelineSync(&connection) == 0)
      return broken(connection);
    for (int left = PQflush(&connection); left != 0; left = PQflush(&connection)) {
      if (left < 0) return broken(connection);
      if (!wait_for_socket(connection, POLLOUT, until)) return timed_out();
    }
    PostgresResult last;
    int ended = 0;  // statements
    for (;;) {
      while (PQisBusy(&connection) != 0) {
        if (!wait_for_socket(connection, POLLIN, until)) return timed_out();
        if (PQconsumeInput(&connection) == 0) return broken(connection);
      }
      PostgresResult next(PQgetResult(&connection));
      if (next == nullptr) {
        if (PQstatus(&connection) == CONNECTION_BAD) return broken(connection);
        ++ended;
        continue;
      }
      const ExecStatusType status = PQresultStatus(next.get());
      if (status == PGRES_PIPELINE_SYNC) break;
      if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        return refused(connection, *next, state);
      last = std::move(next);
    }
    // Fewer results mean that only those of the time limit and of the lock have arrived.
    if (ended != (lock.empty() ? 2 : 3) || last == nullptr) return error_of(Code::kIo, "no result");
    return rows_of(*last);
  }

  static bool send(PGconn& connection, const std::string& statement, Parameters parameters) {
    std::vector<const char*> values;
    std::vector<int> sizes, formats;
    for (const std::string_view parameter : parameters) {
      values.push_back(parameter.data() == nullptr ? "" : parameter.data());
      sizes.push_back(static_cast<int>(parameter.size()));
      formats.push_back(kBinary);
    }
    return PQsendQueryParams(&connection, statement.c_str(), static_cast<int>(values.size()),
                             nullptr, values.data(), sizes.data(), formats.data(), kBinary) == 1;
  }

  // A result without a code is libpq's own: the connection has broken.
  tl::unexpected<Error> refused(const PGconn& connection, const PGresult& result,
                                std::string* state) const {
    const std::string_view code = field_of(result, PG_DIAG_SQLSTATE);
    if (state != nullptr) *state = code;
    if (code.empty()) return broken(connection);
    return error_of(code.starts_with(kShutdown) ? Code::kIo : Code::kUpstream,
                    field_of(result, PG_DIAG_MESSAGE_PRIMARY));
  }

  const PostgresServer server_;
  const PostgresTable table_;
  const std::shared_ptr<IdleConnections> idle_;
  const std::string name_;
  const std::string set_limit_;
  std::mutex making_;
  bool is_made_ = false;
  bool lacks_table_ = false;  // it may be another table than the one that the statements name
};

}  // namespace

Result<std::unique_ptr<Postgres>> make_postgres(PostgresServer server, PostgresTable table) {
  if (!config::is_table_name(table.name))
    return fail(Code::kInvalid,
                "\"{}\" is not a valid table name: use a-z, 0-9 and _, no digit first", table.name);
  std::unique_ptr<Postgres> out =
      std::make_unique<LibpqPostgres>(std::move(server), std::move(table));
  return out;
}

}  // namespace signalbox::stores
