// A row gets its number when it is written, and may become visible after rows with higher numbers.
// So the cursor stays behind rows of the last seconds, and some changes are reported twice.

#include "router/cache/postgres_remote.h"

#include <map>
#include <thread>
#include <utility>

namespace signalbox::cache {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using stores::Postgres;

constexpr milliseconds kPostgresPollEvery{250};
constexpr Clock::duration kPostgresPurgeEvery = std::chrono::minutes(1);

stores::PostgresTable answers_table(const std::string& name) {
  return {name,
          {"CREATE TABLE IF NOT EXISTS {0} (id text PRIMARY KEY, number bigserial NOT NULL, bytes "
           "bytea NOT NULL, head bytea NOT NULL, expires timestamptz NOT NULL, written timestamptz "
           "NOT NULL DEFAULT now(), deleted boolean NOT NULL DEFAULT false)",
           "CREATE INDEX IF NOT EXISTS {0}_number ON {0} (number)",
           "CREATE INDEX IF NOT EXISTS {0}_expires ON {0} (expires)"}};
}

class PostgresRemote final : public Remote {
 public:
  PostgresRemote(const PostgresOptions& options, std::unique_ptr<Postgres> server)
      : options_(options),
        server_(std::move(server)),
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
    SIGNALBOX_TRY(auto rows, server_->run(get_, {id}, options_.read_limit));
    if (rows.empty()) return std::nullopt;
    return std::move(rows[0][0]);
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
      SIGNALBOX_TRY(auto rows, server_->run(follow_, {since}, options_.write_limit));
      bool settled = true;
      for (Postgres::Row& row : rows) {
        settled = settled && row[3] == "true";
        if (settled) cursor = row[0];
        // Changes after the cursor appear in every poll. Report each only once.
        if (!seen_.insert({std::move(row[0]), Clock::now()}).second) continue;
        out.push_back({std::move(row[1]), std::move(row[2])});
      }
      std::erase_if(seen_, [](const auto& row) {
        return row.second < Clock::now() - std::chrono::seconds(30);
      });
      if (!out.empty() || Clock::now() >= until) return out;
      std::this_thread::sleep_for(kPostgresPollEvery);
    }
  }

  const std::string& name() const override { return server_->name(); }

 private:
  Result<void> write(const std::string& statement, Postgres::Parameters parameters) {
    SIGNALBOX_TRY_VOID(server_->run(statement, parameters, options_.write_limit));
    return {};
  }

  Result<void> purge() {
    if (Clock::now() < purge_again_) return {};
    purge_again_ = Clock::now() + kPostgresPurgeEvery;
    return write(purge_, {});
  }

  const PostgresOptions options_;
  const std::unique_ptr<Postgres> server_;
  const std::string get_, put_, remove_, follow_, purge_;
  // Used only by the thread that follows the log.
  std::map<std::string, Clock::time_point> seen_;  // row numbers
  Clock::time_point purge_again_ = {};
};

}  // namespace

Result<std::unique_ptr<Remote>> make_postgres_remote(const PostgresOptions& options) {
  SIGNALBOX_TRY(auto server, stores::make_postgres(options.server, answers_table(options.table)));
  std::unique_ptr<Remote> out = std::make_unique<PostgresRemote>(options, std::move(server));
  return out;
}

}  // namespace signalbox::cache
