// A batch is one statement, because a pool between the router and the server may give each
// statement another connection. Its rows arrive as one JSON text.
//
// Every statement of a batch changes the row of the state first and holds it until its end. So the
// batches of all routers take effect one after the other, in the order of their numbers: a reader
// that has seen a number has seen everything that was added before. This costs no time, because
// routers add to the same totals and would wait for each other anyway.

#include "router/shared_spending/statements.h"

#include <fmt/format.h>

#include <string_view>

#include "router/shared_spending/columns.h"

namespace signalbox::shared_spending {
namespace {

constexpr size_t kCleanRows = 20'000;

// "{0}": the state's table, whose name is that of the tables with "_state".
constexpr std::string_view kMakeState =
    "CREATE TABLE IF NOT EXISTS {0} (id integer PRIMARY KEY CHECK (id = 1), version integer NOT "
    "NULL, epoch text "
    "NOT NULL, counter bigint NOT NULL)";

// "{{0}}": as above.
constexpr std::string_view kMakeRow =
    "INSERT INTO {{0}} VALUES (1, {}, md5(random()::text || clock_timestamp()::text), 0) ON "
    "CONFLICT (id) DO NOTHING";

constexpr std::string_view kMakeTotals =
    "CREATE TABLE IF NOT EXISTS {0}_totals (id uuid PRIMARY KEY, kind text NOT NULL, begin date "
    "NOT NULL, "
    "currency text NOT NULL, name text NOT NULL, amount double precision NOT NULL, changed bigint "
    "NOT NULL)";

constexpr std::string_view kAdd = R"(
WITH clock AS (
  UPDATE {0}_state SET counter = counter + 1 WHERE id = 1 AND version = {1} RETURNING counter),
batch AS (
  INSERT INTO {0}_routers AS t (router, batch, token, seen)
  SELECT $1::text, $2::text::bigint, $3::text, now() FROM clock
  ON CONFLICT (router) DO UPDATE
  SET batch = EXCLUDED.batch, token = EXCLUDED.token, seen = EXCLUDED.seen
  WHERE t.batch < EXCLUDED.batch RETURNING 1),
requests AS ({2}),
shadows AS ({3}),
totals AS (
  INSERT INTO {0}_totals AS t (id, kind, begin, currency, name, amount, changed)
  SELECT x.id, x.kind, DATE '1970-01-01' + x.begin, x.currency, x.name, x.amount, clock.counter
  FROM clock, batch, json_to_recordset($4::text::json->'totals') AS x (id uuid, kind text,
    begin integer, currency text, name text, amount double precision)
  ORDER BY x.id
  ON CONFLICT (id) DO UPDATE SET amount = t.amount + EXCLUDED.amount, changed = EXCLUDED.changed)
SELECT version::text, EXISTS (
  SELECT 1 FROM {0}_routers WHERE router = $1::text AND
    (batch > $2::text::bigint OR batch = $2::text::bigint AND token <> $3::text))::text
FROM {0}_state WHERE id = 1)";

constexpr std::string_view kChanges = R"(
SELECT s.version::text,
       left(s.epoch, 64) || extract(epoch FROM pg_postmaster_start_time())::text,
       s.counter::text, left(t.kind, 64), (t.begin - DATE '1970-01-01')::text,
       left(t.currency, {2}), left(t.name, {2}), t.amount::text, t.changed::text, t.id::text
FROM {0}_state s LEFT JOIN LATERAL (
  SELECT * FROM {0}_totals
  WHERE (changed, id) > ($1::text::bigint, $2::text::uuid) AND kind = ANY ($3::text::text[])
    AND begin >= DATE '1970-01-01' + CASE WHEN kind LIKE '%/day' THEN $4::text::integer
                                          ELSE $5::text::integer END
  ORDER BY changed, id LIMIT {1}) t ON true
WHERE s.id = 1 ORDER BY t.changed, t.id)";

// The server's clock counts, too, so that a router whose clock is ahead removes nothing in use.
constexpr std::string_view kCleanTotals = R"(
DELETE FROM {0}_totals WHERE id IN (
  SELECT id FROM {0}_totals
  WHERE begin < DATE '1970-01-01' + CASE WHEN kind LIKE '%/day' THEN $1::text::integer
                                         ELSE $2::text::integer END
    AND begin < (now() AT TIME ZONE 'UTC')::date - CASE WHEN kind LIKE '%/day' THEN 1 ELSE 31 END
  LIMIT {1}))";

constexpr std::string_view kCleanRouters =
    "DELETE FROM {0}_routers WHERE seen < now() - interval '100 days'";

std::string joined(std::string_view separator, auto&& part, const auto&... lists) {
  std::string out;
  const auto add = [&](const auto& list) {
    for (const std::string_view column : list) {
      if (!out.empty()) out += separator;
      out += part(column);
    }
  };
  (add(lists), ...);
  return out;
}

std::string make_sums(const std::string& table, const Columns& columns) {
  const auto typed = [](std::string_view type) {
    return [type](std::string_view column) { return fmt::format("{} {} NOT NULL", column, type); };
  };
  return fmt::format(
      "CREATE TABLE IF NOT EXISTS {} (id uuid PRIMARY KEY, day date NOT NULL, {}, {}, {})", table,
      joined(", ", typed("text"), columns.texts), joined(", ", typed("bigint"), columns.counts),
      joined(", ", typed("double precision"), columns.numbers));
}

std::string add_sums(const std::string& table, const Columns& columns) {
  const auto plain = [](std::string_view column) { return std::string(column); };
  const auto of_x = [](std::string_view column) { return fmt::format("x.{}", column); };
  const auto typed = [](std::string_view type) {
    return [type](std::string_view column) { return fmt::format("{} {}", column, type); };
  };
  const auto sum = [](std::string_view column) {
    return fmt::format("{0} = t.{0} + EXCLUDED.{0}", column);
  };
  return fmt::format(
      "INSERT INTO {} AS t (id, day, {}) SELECT x.id, DATE '1970-01-01' + x.day, {} FROM clock, "
      "batch, json_to_recordset($4::text::json->'{}') AS x (id uuid, day integer, {}, {}, {}) "
      "ORDER BY x.id ON CONFLICT (id) DO UPDATE SET {}",
      table, joined(", ", plain, columns.texts, columns.counts, columns.numbers),
      joined(", ", of_x, columns.texts, columns.counts, columns.numbers), columns.member,
      joined(", ", typed("text"), columns.texts), joined(", ", typed("bigint"), columns.counts),
      joined(", ", typed("double precision"), columns.numbers),
      joined(", ", sum, columns.counts, columns.numbers));
}

std::string read_sums(const std::string& table, const Columns& columns) {
  const auto text = [](std::string_view column) {
    return fmt::format("left({}::text, {})", column, kNameTextMax + 1);
  };
  return fmt::format(
      "SELECT id::text, (day - DATE '1970-01-01')::text, {} FROM {} WHERE (day, id) > (DATE "
      "'1970-01-01' + $1::text::integer, $2::text::uuid) AND day <= DATE '1970-01-01' + "
      "$3::text::integer ORDER BY day, id LIMIT {}",
      joined(", ", text, columns.texts, columns.counts, columns.numbers), table, kPageRows);
}

}  // namespace

stores::PostgresTable tables(const std::string& name) {
  const std::string shadows = name + "_shadows";
  return {
      name + "_state",
      {std::string(kMakeState), fmt::format(kMakeRow, kVersion), make_sums(name, request_columns()),
       make_sums(shadows, shadow_columns()), fmt::format(kMakeTotals, name),
       fmt::format("CREATE INDEX IF NOT EXISTS {0}_by_day ON {0} (day, id)", name),
       fmt::format("CREATE INDEX IF NOT EXISTS {0}_by_day ON {0} (day, id)", shadows),
       fmt::format("CREATE INDEX IF NOT EXISTS {0}_by_change ON {0}_totals (changed, id)", name),
       fmt::format(
           "CREATE TABLE IF NOT EXISTS {}_routers (router text PRIMARY KEY, batch bigint NOT NULL, "
           "token text NOT NULL, seen timestamptz NOT NULL)",
           name)}};
}

std::string add_statement(const std::string& name) {
  return fmt::format(kAdd, name, kVersion, add_sums(name, request_columns()),
                     add_sums(name + "_shadows", shadow_columns()));
}

std::string changes_statement(const std::string& name) {
  return fmt::format(kChanges, name, kPageRows, kNameTextMax + 1);
}

std::string requests_statement(const std::string& name) {
  return read_sums(name, request_columns());
}

std::string shadows_statement(const std::string& name) {
  return read_sums(name + "_shadows", shadow_columns());
}

std::string version_statement(const std::string& name) {
  return fmt::format("SELECT version::text FROM {}_state WHERE id = 1", name);
}

std::string clean_totals_statement(const std::string& name) {
  return fmt::format(kCleanTotals, name, kCleanRows);
}

std::string clean_routers_statement(const std::string& name) {
  return fmt::format(kCleanRouters, name);
}

}  // namespace signalbox::shared_spending
