// The only file that uses libpq. Its blocking calls have no time limit, so this polls the socket
// instead.
//
// A row gets its number when it is written, and may become visible after rows with higher numbers.
// So the cursor stays behind rows of the last seconds, and some changes are reported twice.

#include "router/cache/postgres_remote.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace signalbox::cache {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kIdleMax = 8;
constexpr int kBinary = 1;
constexpr milliseconds kPostgresPollEvery{250};
constexpr Clock::duration kPostgresPurgeEvery = std::chrono::minutes(1);

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Connection = std::unique_ptr<PGconn, Finish>;
struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Rows = std::unique_ptr<PGresult, Clear>;

std::string_view at(const Rows& rows, int row, int column) {
  return {PQgetvalue(rows.get(), row, column),
          static_cast<size_t>(PQgetlength(rows.get(), row, column))};
}

bool is_table_name(std::string_view text) {
  return !text.empty() && text.size() < 60 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class PostgresRemote final : public Remote {
 public:
  explicit PostgresRemote(PostgresOptions options)
      : options_(std::move(options)),
        name_(fmt::format("postgres {}:{}", options_.host, options_.port)),
        get_(fmt::format("SELECT bytes FROM {} WHERE id = $1 AND expires > now() AND NOT deleted",
                         options_.table)),
        put_(fmt::format(
            "INSERT INTO {0} (id, bytes, head, expires) VALUES ($1, $2, $3, now() + "
            "$4::text::float8 * interval '1 millisecond') ON CONFLICT (id) DO UPDATE "
            "SET bytes = $2, head = $3, expires = EXCLUDED.expires, written = now(), "
            "deleted = false, number = nextval(pg_get_serial_sequence('{0}', 'number')::regclass)",
            options_.table)),
        remove_(fmt::format("UPDATE {0} SET bytes = '', head = '', deleted = true, written = "
                            "now(), number = nextval(pg_get_serial_sequence('{0}', "
                            "'number')::regclass) WHERE id = $1",
                            options_.table)),
        follow_(fmt::format("SELECT number::text, id, head, (written < now() - interval '3 "
                            "seconds')::text FROM {} WHERE number > $1::text::bigint AND expires > "
                            "now() ORDER BY number LIMIT 1000",
                            options_.table)),
        purge_(fmt::format("DELETE FROM {} WHERE expires < now() - interval '1 minute'",
                           options_.table)) {}

  Result<std::optional<std::string>> get(std::string_view id) override {
    SIGNALBOX_TRY(const Rows rows, query(get_, {id}, options_.look_up_limit));
    if (PQntuples(rows.get()) == 0) return std::nullopt;
    return std::string(at(rows, 0, 0));
  }

  Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                   milliseconds ttl) override {
    const std::string lives = std::to_string(ttl.count());
    return write(put_, {id, bytes, head, lives});
  }

  Result<void> remove(std::span<const std::string> ids) override {
    for (const std::string& id : ids) SIGNALBOX_TRY_VOID(write(remove_, {id}));
    return {};
  }

  Result<std::vector<RemoteChange>> follow(std::string& cursor, milliseconds wait) override {
    SIGNALBOX_TRY_VOID(purge());
    const auto until = Clock::now() + wait;
    std::vector<RemoteChange> out;
    for (;;) {
      const std::string since = cursor.empty() ? "0" : cursor;
      SIGNALBOX_TRY(const Rows rows, query(follow_, {since}, options_.write_limit));
      bool settled = true;
      for (int row = 0; row < PQntuples(rows.get()); ++row) {
        settled = settled && at(rows, row, 3) == "true";
        if (settled) cursor = at(rows, row, 0);
        // Changes after the cursor appear in every poll. Report each only once.
        if (!seen_.insert({std::string(at(rows, row, 0)), Clock::now()}).second) continue;
        out.push_back({std::string(at(rows, row, 1)), std::string(at(rows, row, 2))});
      }
      std::erase_if(seen_, [](const auto& row) {
        return row.second < Clock::now() - std::chrono::seconds(30);
      });
      if (!out.empty() || Clock::now() >= until) return out;
      std::this_thread::sleep_for(kPostgresPollEvery);
    }
  }

  const std::string& name() const override { return name_; }

 private:
  using Parameters = std::initializer_list<std::string_view>;  // each as bytes

  Result<Rows> query(const std::string& statement, Parameters parameters, milliseconds limit) {
    const auto until = Clock::now() + limit;
    SIGNALBOX_TRY(Connection connection, open_connection(until));
    auto rows = run(*connection, statement, parameters, until);
    if (rows) {
      give_back(std::move(connection));
    } else if (PQstatus(connection.get()) == CONNECTION_BAD) {
      const std::lock_guard lock(mutex_);
      idle_.clear();  // a server that is gone has closed the others too
    }
    return rows;
  }

  Result<void> write(const std::string& statement, Parameters parameters) {
    SIGNALBOX_TRY(const Rows rows, query(statement, parameters, options_.write_limit));
    return {};
  }

  Result<void> purge() {
    if (Clock::now() < purge_again_) return {};
    purge_again_ = Clock::now() + kPostgresPurgeEvery;
    return write(purge_, {});
  }

  // libpq's messages may contain the statement's values, but their first line does not.
  tl::unexpected<Error> connection_error(const char* message) const {
    const std::string_view text = message;
    return fail(Code::kIo, "{}: {}", name_, text.substr(0, text.find('\n')));
  }
  tl::unexpected<Error> timed_out() const {
    return fail(Code::kDeadline, "{}: no answer in time", name_);
  }

  // Returns false when the time is up.
  static bool wait_for_socket(PGconn& connection, short events, Clock::time_point until) {
    pollfd socket{PQsocket(&connection), events, 0};
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    return left > 0 && ::poll(&socket, 1, static_cast<int>(left)) > 0;
  }

  Result<Connection> open_connection(Clock::time_point until) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Connection connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
      }
    }
    until = std::min(until, Clock::now() + options_.connect_limit);
    const std::string port = std::to_string(options_.port);
    const std::array names{
        "host",     "port",    "dbname",           "user",
        "password", "sslmode", "application_name", static_cast<const char*>(nullptr)};
    const std::array values{options_.host.c_str(),
                            port.c_str(),
                            options_.database.c_str(),
                            options_.user.c_str(),
                            options_.password.c_str(),
                            options_.ssl_mode.c_str(),
                            "signalbox",
                            static_cast<const char*>(nullptr)};
    Connection connection(PQconnectStartParams(names.data(), values.data(), 0));
    if (connection == nullptr) return connection_error("no memory");
    PQsetNoticeProcessor(
        connection.get(), [](void*, const char*) {}, nullptr);
    for (PostgresPollingStatusType state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;) {
      if (PQstatus(connection.get()) == CONNECTION_BAD || state == PGRES_POLLING_FAILED)
        return connection_error(PQerrorMessage(connection.get()));
      if (!wait_for_socket(*connection, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until))
        return timed_out();
      state = PQconnectPoll(connection.get());
    }
    if (PQsetnonblocking(connection.get(), 1) != 0)
      return connection_error(PQerrorMessage(connection.get()));
    SIGNALBOX_TRY_VOID(make_table(*connection));
    return connection;
  }

  Result<void> make_table(PGconn& connection) {
    const std::lock_guard lock(making_);
    if (made_) return {};
    const auto until = Clock::now() + options_.write_limit;
    // If several routers create the table at the same time, PostgreSQL rejects all but one, and the
    // sequence may get another name. The lock prevents that.
    for (const char* statement :
         {"BEGIN", "SELECT pg_advisory_xact_lock(hashtext('{0}'))",
          "CREATE TABLE IF NOT EXISTS {0} (id text PRIMARY KEY, number bigserial NOT NULL, bytes "
          "bytea NOT NULL, head bytea NOT NULL, expires timestamptz NOT NULL, written timestamptz "
          "NOT NULL DEFAULT now(), deleted boolean NOT NULL DEFAULT false)",
          "CREATE INDEX IF NOT EXISTS {0}_number ON {0} (number)",
          "CREATE INDEX IF NOT EXISTS {0}_expires ON {0} (expires)", "COMMIT"}) {
      SIGNALBOX_TRY(
          const Rows done,
          run(connection, fmt::format(fmt::runtime(statement), options_.table), {}, until));
    }
    made_ = true;
    return {};
  }

  void give_back(Connection connection) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleMax) idle_.push_back(std::move(connection));
  }

  Result<Rows> run(PGconn& connection, const std::string& statement, Parameters parameters,
                   Clock::time_point until) const {
    std::vector<const char*> values;
    std::vector<int> sizes, formats;
    for (const std::string_view parameter : parameters) {
      values.push_back(parameter.data());
      sizes.push_back(static_cast<int>(parameter.size()));
      formats.push_back(kBinary);
    }
    if (PQsendQueryParams(&connection, statement.c_str(), static_cast<int>(values.size()), nullptr,
                          values.data(), sizes.data(), formats.data(), kBinary) == 0)
      return connection_error(PQerrorMessage(&connection));
    for (int left = PQflush(&connection); left != 0; left = PQflush(&connection)) {
      if (left < 0) return connection_error(PQerrorMessage(&connection));
      if (!wait_for_socket(connection, POLLOUT, until)) return timed_out();
    }
    Rows last;
    for (;;) {
      while (PQisBusy(&connection) != 0) {
        if (!wait_for_socket(connection, POLLIN, until)) return timed_out();
        if (PQconsumeInput(&connection) == 0) return connection_error(PQerrorMessage(&connection));
      }
      Rows rows(PQgetResult(&connection));
      if (rows == nullptr) break;
      const ExecStatusType status = PQresultStatus(rows.get());
      if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        return connection_error(PQresultErrorField(rows.get(), PG_DIAG_MESSAGE_PRIMARY) == nullptr
                                    ? PQerrorMessage(&connection)
                                    : PQresultErrorField(rows.get(), PG_DIAG_MESSAGE_PRIMARY));
      last = std::move(rows);
    }
    if (last == nullptr) return connection_error("no result");
    return last;
  }

  const PostgresOptions options_;
  const std::string name_, get_, put_, remove_, follow_, purge_;
  std::mutex mutex_;
  std::vector<Connection> idle_;
  std::mutex making_;
  bool made_ = false;
  // Used only by the thread that follows the log.
  std::map<std::string, Clock::time_point> seen_;  // row numbers
  Clock::time_point purge_again_ = {};
};

}  // namespace

Result<std::unique_ptr<Remote>> make_postgres_remote(PostgresOptions options) {
  if (!is_table_name(options.table))
    return fail(Code::kInvalid, "\"{}\" is not a valid table name: use a-z, 0-9 and _",
                options.table);
  std::unique_ptr<Remote> out = std::make_unique<PostgresRemote>(std::move(options));
  return out;
}

}  // namespace signalbox::cache
