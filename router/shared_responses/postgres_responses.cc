// Each statement is repeatable. A write never brings back a deleted response, even if both arrive
// at the same time, because PostgreSQL checks the condition again after it has waited for the row.

#include "router/shared_responses/postgres_responses.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "router/shared_responses/record.h"
#include "router/stores/postgres_feed.h"

namespace signalbox::shared_responses {
namespace {

using std::chrono::milliseconds;
using stores::NamedDeletion;
using stores::Postgres;

constexpr int kVersion = 1;

// The order of the rows prevents a deadlock of two deletions.
constexpr std::string_view kRemoveResponses = R"(
WITH gone AS (
  SELECT name, ends, place
  FROM unnest($1::text::text[], $2::text::bigint[]) WITH ORDINALITY AS x (name, ends, place)),
removed AS (
  INSERT INTO {0}_responses AS t (id, ends)
  SELECT name, to_timestamp(ends / 1000.0) FROM gone ORDER BY name
  ON CONFLICT (id) DO UPDATE SET record = NULL, ends = greatest(t.ends, EXCLUDED.ends)),
{1}
SELECT 1)";

constexpr std::string_view kWriteResponse = R"(
INSERT INTO {0}_responses AS t (id, ends, record)
VALUES ($1, now() + $3::text::bigint * interval '1 millisecond', $2)
ON CONFLICT (id) DO UPDATE SET ends = EXCLUDED.ends, record = EXCLUDED.record
WHERE t.record IS NOT NULL OR t.ends <= now())";

constexpr std::string_view kCleanResponses = R"(
DELETE FROM {0}_responses WHERE id IN (
  SELECT id FROM {0}_responses WHERE ends <= now() ORDER BY ends LIMIT 1000
  FOR UPDATE SKIP LOCKED))";

/// Routers make ids from these characters only. Others are rejected here, because PostgreSQL
/// refuses texts with some bytes, such as zero.
bool is_response_id(std::string_view id) {
  return !id.empty() && std::ranges::all_of(id, [](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') || each == '_' || each == '-';
  });
}

class PostgresResponses final : public ResponseServer {
 public:
  PostgresResponses(const PostgresOptions& options, std::unique_ptr<Postgres> server)
      : table_(options.table),
        limits_{options.server.connect_limit, options.read_limit, options.write_limit},
        read_(with_table("SELECT (record IS NULL)::text, octet_length(record)::text, "
                         "substring(record FROM 1 FOR $2::text::integer) FROM {0}_responses WHERE "
                         "id = $1 AND ends > now()")),
        rest_(with_table("SELECT substring(record FROM $2::text::integer) FROM {0}_responses WHERE "
                         "id = $1 AND ends > now() AND record IS NOT NULL")),
        write_(with_table(kWriteResponse)),
        left_(with_table("SELECT ceil(extract(epoch FROM ends - now()) * 1000)::bigint::text FROM "
                         "{0}_responses WHERE id = $1")),
        remove_(fmt::format(kRemoveResponses, table_, stores::announce_deletions(table_, "gone"))),
        clean_(with_table(kCleanResponses)),
        server_(std::move(server)) {}

  const std::string& name() const override { return server_->name(); }
  const ExchangeLimits& limits() const override { return limits_; }

  Result<std::optional<std::string>> read(std::string_view id, bool is_here,
                                          size_t bytes_max) override {
    if (!is_response_id(id)) return std::string();
    const std::string first = std::to_string(is_here ? 0 : kFirstBytes);
    SIGNALBOX_TRY(auto rows, server_->run(read_, {id, first}, limits_.read));
    if (rows.empty()) return std::string();
    if (rows[0][0] == "true") return std::nullopt;
    if (is_here) return std::string();
    const auto size = stores::number_of<size_t>(rows[0][1]);
    std::string record = std::move(rows[0][2]);
    if (size > bytes_max) return too_large();
    if (size <= record.size() || size > kRecordBytesMax) return record;
    const std::string next = std::to_string(record.size() + 1);
    const milliseconds limit = limits_.read + time_for(size);
    SIGNALBOX_TRY(const auto rest, server_->run(rest_, {id, next}, limit));
    if (rest.empty()) return std::string();  // it has expired or was removed
    return record + rest[0][0];
  }

  Result<void> write(std::string_view id, std::string_view record, milliseconds left) override {
    const std::string ttl = std::to_string(left.count());
    SIGNALBOX_TRY_VOID(
        server_->run(write_, {id, record, ttl}, limits_.write + time_for(record.size())));
    return {};
  }

  Result<milliseconds> left(std::string_view id) override {
    SIGNALBOX_TRY(const auto rows, server_->run(left_, {id}, limits_.read));
    return milliseconds(rows.empty() ? 0 : stores::number_of<int64_t>(rows[0][0]));
  }

  Result<void> remove(std::span<const NamedDeletion> deletions) override {
    std::vector<std::string> names, ends;
    for (const auto& [id, until_ms] : deletions) {
      names.push_back(id);
      ends.push_back(std::to_string(until_ms));
    }
    const std::string all_names = stores::array_of(names), all_ends = stores::array_of(ends);
    SIGNALBOX_TRY_VOID(server_->run(remove_, {all_names, all_ends}, limits_.write));
    return {};
  }

  std::string key_of(std::string_view id) const override { return std::string(id); }

  std::unique_ptr<stores::Feed> feed() override {
    return stores::make_postgres_feed(*server_, {.name = table_,
                                                 .records = table_ + "_responses",
                                                 .clean = [this] { return clean(); },
                                                 .area = "responses"});
  }

 private:
  std::string with_table(std::string_view statement) const {
    return fmt::format(fmt::runtime(statement), table_);
  }
  Result<void> clean() {
    SIGNALBOX_TRY_VOID(server_->run(clean_, {}, limits_.write));
    return {};
  }

  const std::string table_;
  const ExchangeLimits limits_;
  const std::string read_, rest_, write_, left_, remove_, clean_;
  const std::unique_ptr<Postgres> server_;
};

}  // namespace

Result<std::unique_ptr<ResponseServer>> make_postgres_responses(const PostgresOptions& options) {
  auto tables = stores::feed_tables(
      options.table, kVersion,
      {"CREATE TABLE IF NOT EXISTS {0}_responses (id text PRIMARY KEY, ends timestamptz NOT NULL, "
       "record bytea)",
       "CREATE INDEX IF NOT EXISTS {0}_responses_end ON {0}_responses (ends)"});
  SIGNALBOX_TRY(auto server, stores::make_postgres(options.server, std::move(tables)));
  std::unique_ptr<ResponseServer> out =
      std::make_unique<PostgresResponses>(options, std::move(server));
  return out;
}

}  // namespace signalbox::shared_responses
