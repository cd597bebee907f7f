// PostgreSQL keeps everything that it has acknowledged, but another server may take its place: a
// replica that was behind, or one that was restored from a backup. Its process then has another
// start time. The tables may also be made again or restored while the process lives.

#include "router/stores/postgres_feed.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <utility>

#include "base/log.h"
#include "router/stores/deletions.h"

namespace signalbox::stores {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kNameCharactersMax = 256;
constexpr std::chrono::seconds kCleanEvery{1};
constexpr int kRest = 20;  // cleaning pauses for this many times as long as it took

constexpr std::string_view kMakeFeedState =
    "CREATE TABLE IF NOT EXISTS {0} (id integer PRIMARY KEY CHECK (id = 1), version integer NOT "
    "NULL, deletions bigint NOT NULL)";

// "{0}": NAME; "{1}": the part with the deletions; "{2}": the most that are kept.
constexpr std::string_view kAnnounce = R"(
counted AS (
  UPDATE {0}_state SET deletions = deletions + (SELECT count(*) FROM {1}) WHERE id = 1
  RETURNING deletions AS last),
announced AS (
  INSERT INTO {0}_deletions (number, name, ends)
  SELECT last - (SELECT count(*) FROM {1}) + place, name, ends FROM {1}, counted),
forgotten AS (
  DELETE FROM {0}_deletions WHERE number IN (
    SELECT number
    FROM (SELECT number, ends FROM {0}_deletions ORDER BY number LIMIT 1000) AS oldest, counted
    WHERE ends < extract(epoch FROM now()) * 1000 OR number <= last - {2})))";

// "{0}": NAME; "{1}": the most characters of a name; "{2}": the most rows. $1: the last number.
constexpr std::string_view kFollowDeletions = R"(
SELECT extract(epoch FROM pg_postmaster_start_time()) || ' ' || s.tableoid, d.number::text,
       left(d.name, {1}), d.ends::text, s.deletions::text
FROM {0}_state s LEFT JOIN LATERAL (
  SELECT * FROM {0}_deletions WHERE number > $1::text::bigint ORDER BY number LIMIT {2}) d ON true
WHERE s.id = 1 ORDER BY d.number)";

class PostgresFeed final : public Feed {
 public:
  PostgresFeed(Postgres& server, PostgresFeedOptions options)
      : server_(server),
        options_(std::move(options)),
        follow_(fmt::format(kFollowDeletions, options_.name, kNameCharactersMax, kEntriesMax)),
        are_there_(
            fmt::format("SELECT id FROM {} WHERE id = ANY ($1::text::text[])", options_.records)) {}

  Result<std::vector<std::vector<std::string>>> follow(std::string& cursor, milliseconds wait,
                                                       milliseconds limit) override {
    if (cursor.empty()) cursor = "0";
    SIGNALBOX_TRY(auto rows, server_.run(follow_, {cursor}, limit));
    if (rows.empty() || rows.front().size() != 5)
      return fail(Code::kCorrupt, "{}: table {}_state has no row", server_.name(), options_.name);
    const uint64_t deletions = number_of(rows.front()[4]);
    const bool has_fewer = deletions < std::exchange(deletions_, deletions);
    if (has_fewer || rows.front()[0] != start_) {
      start_ = rows.front()[0];
      ++lives_;
      cleans_at_ = std::max(cleans_at_, Clock::now() + kCleanEvery);
      return std::vector<std::vector<std::string>>();
    }
    std::vector<std::vector<std::string>> out;
    for (Postgres::Row& row : rows) {
      if (row[1].empty()) continue;  // there is none
      cursor = row[1];
      out.push_back({"name", std::move(row[2]), "until", std::move(row[3])});
    }
    if (out.empty()) {  // do not let entries wait for the cleaning
      clean();
      std::this_thread::sleep_for(wait);
    }
    return out;
  }
  uint64_t lives() const override { return lives_; }
  Result<std::vector<bool>> are_there(std::span<const std::string> keys,
                                      milliseconds limit) override {
    const std::string all = array_of(keys);
    SIGNALBOX_TRY(const auto rows, server_.run(are_there_, {all}, limit));
    std::vector<bool> out;
    for (const std::string& key : keys)
      out.push_back(std::ranges::any_of(rows, [&](const auto& row) { return row[0] == key; }));
    return out;
  }

 private:
  /// A failure is only logged, because the server may still store and return records.
  void clean() {
    const auto begun = Clock::now();
    if (begun < cleans_at_) return;
    const auto cleaned = options_.clean();
    const auto now = Clock::now();
    cleans_at_ = now + std::max<Clock::duration>(kCleanEvery, kRest * (now - begun));
    if (cleaned) {
      failure_logged_ = false;
    } else if (!std::exchange(failure_logged_, true)) {
      log::warn(options_.area, "{}; expired records are not removed", cleaned.error().message);
    }
  }

  Postgres& server_;
  const PostgresFeedOptions options_;
  const std::string follow_, are_there_;
  std::string start_;  // of the server's process, and the table of the state
  uint64_t deletions_ = 0;
  std::atomic<uint64_t> lives_ = 0;
  Clock::time_point cleans_at_{};
  bool failure_logged_ = false;
};

}  // namespace

PostgresTable feed_tables(const std::string& name, int version,
                          std::vector<std::string> statements) {
  PostgresTable out{name + "_state", {}, version};
  out.statements = {
      std::string(kMakeFeedState),
      fmt::format("INSERT INTO {{0}} VALUES (1, {}, 0) ON CONFLICT (id) DO NOTHING", version),
      fmt::format("CREATE TABLE IF NOT EXISTS {}_deletions (number bigint PRIMARY KEY, name text "
                  "NOT NULL, ends bigint NOT NULL)",
                  name)};
  for (const std::string& each : statements)
    out.statements.push_back(fmt::format(fmt::runtime(each), name));
  return out;
}

std::string announce_deletions(const std::string& name, std::string_view named) {
  return fmt::format(kAnnounce, name, named, Deletions::kMax);
}

std::string array_of(std::span<const std::string> elements) {
  std::string out = "{";
  for (const std::string& element : elements) {
    out += out.size() == 1 ? "\"" : ",\"";
    for (const char each : element) {
      if (each == '"' || each == '\\') out += '\\';
      out += each;
    }
    out += '"';
  }
  return out + "}";
}

std::unique_ptr<Feed> make_postgres_feed(Postgres& server, PostgresFeedOptions options) {
  return std::make_unique<PostgresFeed>(server, std::move(options));
}

}  // namespace signalbox::stores
