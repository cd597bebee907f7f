// Each statement compares and writes in one step, because PostgreSQL checks the conditions of an
// UPDATE again after it has waited for another one. Statements must be repeatable, because a
// statement whose connection was closed is sent once more.

#include "router/shared_keys/postgres_keys.h"

#include <utility>
#include <vector>

namespace signalbox::shared_keys {
namespace {

using stores::Postgres;

stores::PostgresTable keys_table(const std::string& name) {
  return {name,
          {"CREATE TABLE IF NOT EXISTS {0} (id integer PRIMARY KEY CHECK (id = 1), epoch text NOT "
           "NULL CHECK (epoch <> ''), version bigint NOT NULL CHECK (version > 0), digest text NOT "
           "NULL, keys bytea NOT NULL, server_began timestamptz NOT NULL, quiet_until timestamptz "
           "NOT NULL DEFAULT '-infinity')"}};
}

// "{0}": the table; "{1}": the grace in milliseconds.
// $1 to $3: the known set. $4: the largest text, with one byte more to find larger ones.
constexpr std::string_view kReadRow = R"(
SELECT epoch, version::text, digest,
       CASE WHEN epoch = $1 AND version::text = $2 AND digest = $3 THEN ''
            ELSE substring(keys FROM 1 FOR $4::text::integer) END
FROM {0} WHERE id = 1)";

// $1 to $3: the expected set. It is the condition of a change.
constexpr std::string_view kExpected =
    "id = 1 AND epoch = $1 AND version = $2::text::bigint AND digest = $3";
// The lower bound ends the pause if the clock was set back.
constexpr std::string_view kQuiet =
    "clock_timestamp() BETWEEN quiet_until - interval '{1} milliseconds' AND quiet_until";

// $1 to $4: the next set, where there is none.
constexpr std::string_view kBeginRow = R"(
INSERT INTO {0} (id, epoch, version, digest, keys, server_began)
VALUES (1, $1, $2::text::bigint, $3, $4, pg_postmaster_start_time())
ON CONFLICT (id) DO NOTHING RETURNING 'done')";

// $4 to $7: the next set.
constexpr std::string_view kChangeRow = R"(
UPDATE {0} SET epoch = $4, version = $5::text::bigint, digest = $6, keys = $7
WHERE {2} AND server_began = pg_postmaster_start_time() AND NOT {3} RETURNING 'done')";

// A replica that took over, or the same server after a restart, may have an earlier set than the
// routers know.
constexpr std::string_view kOtherServer = R"(
UPDATE {0} SET server_began = pg_postmaster_start_time(),
               quiet_until = clock_timestamp() + interval '{1} milliseconds'
WHERE {2} AND server_began <> pg_postmaster_start_time() RETURNING 'wait')";

// $1 to $4: the set.
constexpr std::string_view kRestoreRow = R"(
INSERT INTO {0} AS now (id, epoch, version, digest, keys, server_began, quiet_until)
VALUES (1, $1, $2::text::bigint, $3, $4, pg_postmaster_start_time(),
        clock_timestamp() + interval '{1} milliseconds')
ON CONFLICT (id) DO UPDATE SET version = EXCLUDED.version, digest = EXCLUDED.digest,
  keys = EXCLUDED.keys, server_began = EXCLUDED.server_began, quiet_until = EXCLUDED.quiet_until
WHERE now.epoch = EXCLUDED.epoch AND now.version < EXCLUDED.version RETURNING 'restored')";

class PostgresKeys final : public KeyServer {
 public:
  PostgresKeys(const PostgresOptions& options, std::unique_ptr<Postgres> server)
      : read_limit_(options.read_limit),
        write_limit_(options.write_limit),
        read_(statement(kReadRow, options)),
        begin_(statement(kBeginRow, options)),
        change_(statement(kChangeRow, options)),
        other_server_(statement(kOtherServer, options)),
        restore_(statement(kRestoreRow, options)),
        server_(std::move(server)) {}

  const std::string& name() const override { return server_->name(); }

  Result<Found> read(const Stamp& known) override {
    const std::string version = std::to_string(known.version);
    const std::string bytes_max = std::to_string(kTextBytesMax + 1);
    SIGNALBOX_TRY(auto rows, server_->run(read_, {known.epoch, version, known.digest, bytes_max},
                                          read_limit_));
    if (rows.empty()) return Found();
    Postgres::Row& row = rows.front();
    const bool is_known =
        row.size() == 4 && row[0] == known.epoch && row[1] == version && row[2] == known.digest;
    if (is_known) row.pop_back();
    auto out = read_set(std::move(row), known);
    if (!out) return fail_in(name(), std::move(out).error());
    return out;
  }

  Result<Written> write(const Stamp& expected, const Stamp& next,
                        const std::string& text) override {
    const std::string was = std::to_string(expected.version), is = std::to_string(next.version);
    SIGNALBOX_TRY(const auto changed,
                  expected.version == 0
                      ? server_->run(begin_, {next.epoch, is, next.digest, text}, write_limit_)
                      : server_->run(change_,
                                     {expected.epoch, was, expected.digest, next.epoch, is,
                                      next.digest, text},
                                     write_limit_));
    if (!changed.empty()) return Written::kDone;
    if (expected.version != 0) {
      SIGNALBOX_TRY_VOID(
          server_->run(other_server_, {expected.epoch, was, expected.digest}, write_limit_));
    }
    SIGNALBOX_TRY(const Found now, read(next));
    if (now.stamp == next) return Written::kDone;
    return now.stamp == expected ? Written::kWait : Written::kChanged;
  }

  Result<bool> restore(const Stamp& stamp, const std::string& text) override {
    const std::string version = std::to_string(stamp.version);
    SIGNALBOX_TRY(const auto restored,
                  server_->run(restore_, {stamp.epoch, version, stamp.digest, text}, write_limit_));
    return !restored.empty();
  }

 private:
  static std::string statement(std::string_view text, const PostgresOptions& options) {
    const std::string grace = std::to_string(options.grace.count());
    const std::string quiet = fmt::format(fmt::runtime(kQuiet), options.table, grace);
    return fmt::format(fmt::runtime(text), options.table, grace, kExpected, quiet);
  }

  const std::chrono::milliseconds read_limit_, write_limit_;
  const std::string read_, begin_, change_, other_server_, restore_;
  const std::unique_ptr<Postgres> server_;
};

}  // namespace

Result<std::unique_ptr<KeyServer>> make_postgres_keys(const PostgresOptions& options) {
  SIGNALBOX_TRY(auto server, stores::make_postgres(options.server, keys_table(options.table)));
  std::unique_ptr<KeyServer> out = std::make_unique<PostgresKeys>(options, std::move(server));
  return out;
}

}  // namespace signalbox::shared_keys
