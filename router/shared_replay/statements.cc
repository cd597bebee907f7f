// A record and a deletion that applies to it may arrive at the same time. So may a shadow and the
// removal of texts. The locks put them in an order, and a statement after a lock sees everything
// that was committed before. Statements that remove records take the lock, too, so that no two of
// them wait for each other. Everything else that changes a record holds its row.

#include "router/shared_replay/statements.h"

#include <fmt/format.h>

#include <string_view>

#include "router/observe/replay.h"
#include "router/shared_replay/record.h"
#include "router/shared_replay/replay_server.h"
#include "router/stores/postgres_feed.h"

namespace signalbox::shared_replay {
namespace {

constexpr int kReplayVersion = 1;
/// A moment that is never reached.
constexpr uint64_t kNever = kMomentMax;
/// The bytes that PostgreSQL needs for a record and its indices, beside its texts.
constexpr size_t kRowBytes = 600;

// "{0}": NAME; "{now}" and "{clock}": the begin of the statement, and the present moment.
constexpr std::string_view kNow = "(extract(epoch FROM now()) * 1000)::bigint",
                           kClock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

constexpr std::string_view kAddRecord = R"(
WITH given AS (
  SELECT {clock} - $5::text::bigint AS at, $6::text::bigint AS lasts, $7::text::bigint AS texts_last),
placed AS (
  INSERT INTO {0}_records (id, at, ends, texts_end, had_texts, names, record, bytes, text_bytes)
  SELECT $1::text, at, CASE lasts WHEN 0 THEN {never} ELSE at + lasts END,
         CASE texts_last WHEN 0 THEN {never} ELSE at + texts_last END,
         octet_length($8::bytea) + octet_length($10::bytea) > 0, $3::text::text[],
         $2::bytea,
         {row} + octet_length($2::bytea) + octet_length($8::bytea) + octet_length($10::bytea),
         octet_length($8::bytea) + octet_length($10::bytea)
  FROM given
  WHERE NOT EXISTS (SELECT FROM {0}_forgotten f
                    WHERE scope = ANY ($4::text::text[]) AND f.moment > given.at)
  ON CONFLICT (id) DO NOTHING RETURNING id)
INSERT INTO {0}_parts (record, kind, number, bytes, is_cut)
SELECT id, x.kind, 0, x.bytes, x.is_cut
FROM placed, (VALUES ('request', $8::bytea, $9::text::boolean),
                     ('response', $10::bytea, $11::text::boolean)) AS x (kind, bytes, is_cut)
WHERE octet_length(x.bytes) > 0)";

// "{1}": the condition of the indices.
constexpr std::string_view kListRecords = R"(
WITH chosen AS NOT MATERIALIZED (
  SELECT id, at, record FROM {0}_records
  WHERE ends > {now} AND ($1::text::bigint = 0 OR at > {now} - $1::text::bigint) {1})
SELECT c.total::text, p.record
FROM (SELECT count(*) AS total FROM chosen) c LEFT JOIN LATERAL (
  SELECT at, id, CASE WHEN octet_length(record) <= {bytes} THEN record END AS record FROM chosen
  ORDER BY at DESC, id DESC OFFSET $2::text::bigint LIMIT $3::text::bigint) p ON true
ORDER BY p.at DESC, p.id DESC)";

constexpr std::string_view kFindRecord = R"(
SELECT kind, number::text, bytes, is_cut::text FROM (
  SELECT 'record' AS kind, 0 AS number, record AS bytes, had_texts AS is_cut FROM {0}_records
  WHERE id = $1::text AND ends > {now} AND octet_length(record) <= {bytes}
  UNION ALL
  SELECT p.kind, p.number, CASE WHEN octet_length(p.bytes) <= {bytes} THEN p.bytes END, p.is_cut
  FROM {0}_records r JOIN {0}_parts p ON p.record = r.id
  WHERE r.id = $1::text AND r.ends > {now} AND p.number BETWEEN 0 AND {shadows}
    AND (r.texts_end > {now} OR p.kind IN ('outcome', 'shadow'))) AS x
ORDER BY kind, number)";

// "{1}": a part that announces the deletion, or nothing.
constexpr std::string_view kRemoveRecords = R"(
WITH begun AS (
  SELECT CASE $1::text::bigint WHEN 0 THEN {clock} ELSE $1::text::bigint END AS moment),
forgets AS (
  INSERT INTO {0}_forgotten AS f (scope, moment, made) SELECT $2::text, moment, {now} FROM begun
  ON CONFLICT (scope) DO UPDATE SET moment = greatest(f.moment, EXCLUDED.moment),
                                    made = EXCLUDED.made),{1}
gone AS (
  DELETE FROM {0}_records WHERE id IN (
    SELECT id FROM {0}_records, begun WHERE at <= moment AND names @> $3::text::text[] LIMIT {most})
  RETURNING 1)
SELECT (SELECT count(*) FROM gone)::text, moment::text FROM begun)";

constexpr std::string_view kNamed = R"(
named AS (SELECT moment::text || ' ' || $2::text AS name, moment + {last} AS ends, 1 AS place
          FROM begun),
{announce},)";

// `last` has the tokens of all added outcomes and shadows, so a repeated one counts once.
constexpr std::string_view kAddOutcome = R"(
WITH held AS (
  UPDATE {0}_records SET outcomes = outcomes + 1, bytes = bytes + octet_length($2::bytea), last = last || $3::text
  WHERE id = $1::text AND ends > {now} AND outcomes < {outcomes} AND strpos(last, $3::text) = 0
  RETURNING id, outcomes - 1 AS number),
added AS (
  INSERT INTO {0}_parts (record, kind, number, bytes) SELECT id, 'outcome', number, $2::bytea FROM held)
SELECT (EXISTS (SELECT FROM held) OR
        EXISTS (SELECT FROM {0}_records WHERE id = $1::text AND strpos(last, $3::text) > 0))::text)";

constexpr std::string_view kAddShadow = R"(
WITH begun AS (SELECT {clock} AS moment),
held AS (
  UPDATE {0}_records
  SET shadows = shadows + 1, last = last || $3::text, had_texts = had_texts OR octet_length($4::bytea) > 0,
      bytes = bytes + octet_length($2::bytea)
              + CASE WHEN texts_end > moment THEN octet_length($4::bytea) ELSE 0 END,
      text_bytes = text_bytes + CASE WHEN texts_end > moment THEN octet_length($4::bytea) ELSE 0 END
  FROM begun WHERE id = $1::text AND ends > {now} AND shadows < {shadows} AND strpos(last, $3::text) = 0
  RETURNING id, shadows - 1 AS number, texts_end > moment AS keeps_text),
added AS (
  INSERT INTO {0}_parts (record, kind, number, bytes)
  SELECT id, 'shadow', number, $2::bytea FROM held
  UNION ALL
  SELECT id, 'shadow_text', number, $4::bytea FROM held
  WHERE keeps_text AND octet_length($4::bytea) > 0)
SELECT EXISTS (SELECT FROM {0}_records WHERE id = $1::text)::text)";

constexpr std::string_view kDropTexts = R"(
WITH ended AS (
  SELECT id FROM {0}_records WHERE text_bytes > 0 AND texts_end <= {now}
  ORDER BY texts_end LIMIT {most}),
dropped AS (
  DELETE FROM {0}_parts p USING ended
  WHERE p.record = ended.id AND p.kind NOT IN ('outcome', 'shadow'))
UPDATE {0}_records r SET bytes = bytes - text_bytes, text_bytes = 0 FROM ended WHERE r.id = ended.id)";

constexpr std::string_view kDropForgotten =
    "DELETE FROM {0}_forgotten WHERE made < {now} - {on_its_way}";

constexpr std::string_view kDropRecords = R"(
DELETE FROM {0}_records WHERE id IN (
  (SELECT id FROM {0}_records WHERE ends <= {now} LIMIT {most})
  UNION ALL
  (SELECT id FROM {0}_records WHERE (at, id) <= (
     SELECT at, id FROM {0}_records ORDER BY at DESC, id DESC OFFSET $1::text::bigint LIMIT 1)
   ORDER BY at, id LIMIT {most})))";

constexpr std::string_view kDropBytes = R"(
DELETE FROM {0}_records WHERE id IN (
  SELECT id FROM (
    SELECT id, sum(bytes) OVER (ORDER BY at DESC, id DESC) AS total FROM {0}_records) AS x
  WHERE total > $1::text::numeric LIMIT {most}))";

std::string statement_of(std::string_view text, const std::string& name,
                         const std::string& part = {}) {
  using fmt::arg;
  return fmt::format(fmt::runtime(text), name, part, arg("now", kNow), arg("clock", kClock),
                     arg("never", kNever), arg("row", kRowBytes), arg("bytes", kTextBytesMax),
                     arg("most", kRemovedAtOnce), arg("shadows", kShadowsMax),
                     arg("outcomes", observe::Replay::kOutcomesMax),
                     arg("last", kDeletionsLast.count()), arg("on_its_way", kArrivesWithin.count()),
                     arg("announce", stores::announce_deletions(name, "named")));
}

std::string lock_statement(std::string_view function, const std::string& name) {
  return fmt::format("SELECT {}(hashtext('{}_records'))", function, name);
}

}  // namespace

Statements::Statements(const std::string& name)
    : lock_shared(lock_statement("pg_advisory_xact_lock_shared", name)),
      lock(lock_statement("pg_advisory_xact_lock", name)),
      add(statement_of(kAddRecord, name)),
      list_all(statement_of(kListRecords, name)),
      list(statement_of(kListRecords, name, "AND names @> $4::text::text[]")),
      find(statement_of(kFindRecord, name)),
      remove_first(statement_of(kRemoveRecords, name, statement_of(kNamed, name))),
      remove(statement_of(kRemoveRecords, name)),
      add_outcome(statement_of(kAddOutcome, name)),
      add_shadow(statement_of(kAddShadow, name)),
      drop_texts(statement_of(kDropTexts, name)),
      drop_forgotten(statement_of(kDropForgotten, name)),
      drop_records(statement_of(kDropRecords, name)),
      drop_bytes(statement_of(kDropBytes, name)) {}

stores::PostgresTable tables(const std::string& name) {
  return stores::feed_tables(
      name, kReplayVersion,
      {"CREATE TABLE IF NOT EXISTS {0}_records (id text PRIMARY KEY, at bigint NOT NULL, ends "
       "bigint NOT NULL, texts_end bigint NOT NULL, had_texts boolean NOT NULL, names text[] NOT "
       "NULL, record bytea NOT NULL, bytes bigint NOT NULL, text_bytes bigint NOT NULL, outcomes "
       "integer NOT NULL DEFAULT 0, shadows integer NOT NULL DEFAULT 0, last text NOT NULL DEFAULT "
       "'')",
       "CREATE INDEX IF NOT EXISTS {0}_records_at ON {0}_records (at, id) INCLUDE (ends, bytes)",
       "CREATE INDEX IF NOT EXISTS {0}_records_ends ON {0}_records (ends)",
       "CREATE INDEX IF NOT EXISTS {0}_records_texts ON {0}_records (texts_end) WHERE text_bytes > "
       "0",
       "CREATE INDEX IF NOT EXISTS {0}_records_names ON {0}_records USING gin (names)",
       "CREATE TABLE IF NOT EXISTS {0}_parts (record text NOT NULL REFERENCES {0}_records ON "
       "DELETE "
       "CASCADE, kind text NOT NULL, number integer NOT NULL, bytes bytea NOT NULL, is_cut boolean "
       "NOT NULL DEFAULT false, PRIMARY KEY (record, kind, number))",
       "CREATE TABLE IF NOT EXISTS {0}_forgotten (scope text PRIMARY KEY, moment bigint NOT NULL, "
       "made bigint NOT NULL)"});
}

}  // namespace signalbox::shared_replay
