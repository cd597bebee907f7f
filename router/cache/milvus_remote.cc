// Rows carry their time of writing, and a row may become visible after rows with a later time. So
// the cursor stays behind rows that may still appear, and rows seen after it are remembered. Query
// results have no order, so a log that is too long for one query is requested by halves of its time
// range.

#include "router/cache/milvus_remote.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "router/cache/milvus_rows.h"
#include "router/http/stream.h"

namespace signalbox::cache {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kMilvusPollEvery{500};
constexpr Clock::duration kMilvusPurgeEvery = std::chrono::minutes(1);
constexpr std::chrono::seconds kStale{5};  // how far a query may lag, by Milvus's own measure
constexpr std::chrono::minutes kTombstone{10};
constexpr size_t kLogMax = 4000;   // rows for each query; Milvus returns at most 16,384
constexpr size_t kHeadsMax = 100;  // for each query

template <class Unit>
int64_t wall() {
  return std::chrono::duration_cast<Unit>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}
int64_t wall_us() {
  return wall<std::chrono::microseconds>();
}
int64_t wall_ms() {
  return wall<milliseconds>();
}

bool is_collection_name(std::string_view text) {
  return !text.empty() && text.size() < 256 && !ascii::is_digit(text[0]) &&
         std::ranges::all_of(text, [](char c) { return ascii::is_alnum(c) || c == '_'; });
}

class MilvusRemote final : public Remote {
 public:
  explicit MilvusRemote(MilvusOptions options)
      : options_(std::move(options)),
        milvus_(options_.server),
        where_(fmt::format(R"({}"collectionName":{})",
                           options_.database.empty()
                               ? ""
                               : fmt::format(R"("dbName":{},)", json::quote(options_.database)),
                           json::quote(options_.collection))),
        consistency_(
            options_.consistency.empty()
                ? ""
                : fmt::format(R"(,"consistencyLevel":{})", json::quote(options_.consistency))) {}

  Result<std::optional<std::string>> get(std::string_view id) override {
    const auto until = Clock::now() + options_.look_up_limit;
    if (!is_milvus_id(id)) return std::nullopt;
    if (!ready_) return fail(Code::kIo, "{}: its collection is not ready yet", name());
    const std::string first_id(id);
    SIGNALBOX_TRY(auto rows,
                  rows_of({&first_id, 1}, R"(["id","written","expires","pieces","bytes"])", until,
                          consistency_));
    if (rows.empty() || rows[0].id != id || rows[0].pieces <= 0 || rows[0].expires <= wall_ms())
      return std::nullopt;
    const MilvusRow& first = rows[0];
    std::string out = first.bytes;
    if (first.pieces == 1) return out;
    if (first.pieces > kMilvusPiecesMax)
      return fail(Code::kIo, "{}: an answer of {} rows", name(), first.pieces);
    std::vector<std::string> ids;
    for (int64_t piece = 1; piece < first.pieces; ++piece)
      ids.push_back(milvus_piece(id, first.written, piece));
    SIGNALBOX_TRY(auto more, rows_of(ids, R"(["id","bytes"])", until, consistency_));
    std::map<std::string_view, std::string_view> pieces;
    for (const MilvusRow& row : more) pieces[row.id] = row.bytes;
    // If a piece is not visible yet, the look-up is a miss.
    for (const std::string& piece : ids) {
      const auto found = pieces.find(piece);
      if (found == pieces.end()) return std::nullopt;
      out += found->second;
    }
    return out;
  }

  Result<void> put(std::string_view id, std::string_view bytes, std::string_view head,
                   milliseconds ttl) override {
    MilvusRow row;
    row.id = id;
    row.written = row.logged = wall_us();
    row.expires = wall_ms() + ttl.count();
    row.head = head;
    const auto rows = milvus_rows(row, bytes);
    // Retrying does not help: this answer cannot be stored.
    if (!rows || !is_milvus_id(id)) return {};
    return write("/entities/upsert", fmt::format(R"("data":{})", *rows));
  }

  Result<void> remove(std::span<const std::string> ids) override {
    for (const std::string& id : ids) {
      if (!is_milvus_id(id)) continue;
      MilvusRow row;
      row.id = id;
      row.written = row.logged = wall_us();
      row.expires = wall_ms() + milliseconds(kTombstone).count();
      SIGNALBOX_TRY_VOID(
          write("/entities/upsert", fmt::format(R"("data":{})", *milvus_rows(row, ""))));
      SIGNALBOX_TRY_VOID(
          write("/entities/delete", fmt::format(R"("filter":"id like \"{}.%\"")", id)));
    }
    return {};
  }

  Result<std::vector<RemoteChange>> follow(std::string& cursor, milliseconds wait) override {
    SIGNALBOX_TRY_VOID(prepare());
    SIGNALBOX_TRY_VOID(purge());
    for (const auto until = Clock::now() + wait;;) {
      SIGNALBOX_TRY(auto changes, read_changes(cursor));
      if (!changes.empty() || Clock::now() >= until) return changes;
      if (caught_up_) std::this_thread::sleep_for(kMilvusPollEvery);
    }
  }

  const std::string& name() const override { return milvus_.name(); }

 private:
  using Deadline = Clock::time_point;

  Result<json::Document> call(std::string_view path, std::string_view members, Deadline until) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    auto reply = milvus_.call(
        path, fmt::format("{{{}{}{}}}", where_, members.empty() ? "" : ",", members), left);
    // The next write or poll creates or loads the collection again.
    if (!reply && reply.error().code == Code::kNotFound) ready_ = false;
    return reply;
  }
  Deadline write_deadline() const { return Clock::now() + options_.write_limit; }

  Result<void> write(std::string_view path, std::string_view members) {
    SIGNALBOX_TRY_VOID(prepare());
    const auto done = call(path, members, write_deadline());
    if (!done) return tl::unexpected<Error>(stores::without_quotes(done.error()));
    return {};
  }

  Result<std::vector<MilvusRow>> query(std::string_view path, std::string_view members,
                                       Deadline until) {
    SIGNALBOX_TRY(const json::Document reply, call(path, members, until));
    auto rows = read_milvus_rows(reply.root());
    if (!rows) return fail_in(name(), std::move(rows).error());
    return rows;
  }

  /// `more` holds further members of the request.
  Result<std::vector<MilvusRow>> rows_of(std::span<const std::string> ids, std::string_view fields,
                                         Deadline until, std::string_view more) {
    json::Writer names;
    names.begin_array();
    for (const std::string& id : ids) names.string(id);
    names.end_array();
    return query("/entities/get",
                 fmt::format(R"("id":{},"outputFields":{}{})", names.take(), fields, more), until);
  }

  // --- the collection ---

  Result<void> prepare() {
    const std::lock_guard lock(preparing_);
    if (ready_) return {};
    SIGNALBOX_TRY(const json::Document existing, call("/collections/has", "", write_deadline()));
    const auto data = existing.root().find("data");
    const auto has = data ? data->find("has") : std::nullopt;
    if (!has || !has->is_bool())
      return fail(Code::kIo, "{}: the reply does not show whether the collection exists", name());
    if (!has->boolean()) SIGNALBOX_TRY_VOID(create_collection());
    SIGNALBOX_TRY(const json::Document described,
                  call("/collections/describe", "", write_deadline()));
    auto fits = check_milvus_schema(described.root());
    if (!fits) {
      return fail(fits.error().code,
                  "{}: the collection \"{}\" was not made by this program; choose another name: {}",
                  name(), options_.collection, fits.error().message);
    }
    if (!is_milvus_loaded(described.root())) {
      SIGNALBOX_TRY(const json::Document loaded, call("/collections/load", "", write_deadline()));
    }
    ready_ = true;
    return {};
  }

  Result<void> create_collection() {
    if (!options_.makes_collection)
      return fail(Code::kInvalid,
                  "{}: there is no collection \"{}\", and development.auto_create_collection does "
                  "not allow creating it",
                  name(), options_.collection);
    SIGNALBOX_TRY(const json::Document made,
                  call("/collections/create",
                       fmt::format(R"("description":{},{})", json::quote(options_.description),
                                   milvus_schema()),
                       write_deadline()));
    return {};
  }

  Result<void> purge() {
    if (Clock::now() < purge_again_) return {};
    purge_again_ = Clock::now() + kMilvusPurgeEvery;
    return write("/entities/delete", fmt::format(R"("filter":"expires < {}")", wall_ms() - 60'000));
  }

  // --- the log ---

  using LogEntry = std::pair<int64_t, std::string>;  // time of writing, id

  Result<std::vector<MilvusRow>> log_between(int64_t since, int64_t to) {
    return query("/entities/query",
                 fmt::format(R"("filter":"told > {} and told <= {} and expires > {}",)"
                             R"("outputFields":["id","told"],"limit":{})",
                             since, to, wall_ms(), kLogMax),
                 write_deadline());
  }

  Result<std::vector<RemoteChange>> read_changes(std::string& cursor) {
    const int64_t from = cursor.empty() ? 0 : std::stoll(cursor);
    const int64_t now = wall_us();
    int64_t since = from, to = INT64_MAX;
    SIGNALBOX_TRY(auto rows, log_between(since, to));
    for (int64_t crowded_to = now; rows.size() >= kLogMax && crowded_to - since > 1;) {
      to = since + (crowded_to - since) / 2;
      SIGNALBOX_TRY(auto half, log_between(since, to));
      if (half.size() >= kLogMax) {
        crowded_to = to;
      } else if (half.empty()) {
        since = to;
      } else {
        rows = std::move(half);
      }
    }
    std::set<LogEntry> fresh;
    for (MilvusRow& row : rows) {
      LogEntry entry{row.logged, std::move(row.id)};
      if (!seen_.contains(entry)) fresh.insert(std::move(entry));
    }
    SIGNALBOX_TRY(auto changes, fetch_heads(fresh));
    caught_up_ = to == INT64_MAX;
    const int64_t unsettled =
        std::chrono::microseconds(kClocksApart + kStale + options_.write_limit).count();
    const int64_t settled = std::max(from, std::min(to, now - unsettled));
    cursor = std::to_string(settled);
    seen_.erase(seen_.begin(), seen_.lower_bound({settled + 1, ""}));
    return changes;
  }

  /// Fetches the heads of the new log rows and remembers those that were visible.
  Result<std::vector<RemoteChange>> fetch_heads(const std::set<LogEntry>& fresh) {
    std::vector<RemoteChange> out;
    for (auto next = fresh.begin(); next != fresh.end();) {
      std::vector<std::string> ids;
      const auto first = next;
      for (; next != fresh.end() && ids.size() < kHeadsMax; ++next) ids.push_back(next->second);
      SIGNALBOX_TRY(auto rows, rows_of(ids, R"(["id","pieces","head"])", write_deadline(), ""));
      std::map<std::string_view, MilvusRow*> heads;
      for (MilvusRow& row : rows) heads[row.id] = &row;
      for (auto entry = first; entry != next; ++entry) {
        const auto found = heads.find(entry->second);
        if (found == heads.end()) continue;
        const MilvusRow& row = *found->second;
        out.push_back({entry->second, row.pieces > 0 ? row.head : ""});
        seen_.insert(*entry);
      }
    }
    return out;
  }

  const MilvusOptions options_;
  stores::Milvus milvus_;
  const std::string where_, consistency_;
  std::mutex preparing_;
  std::atomic<bool> ready_{false};
  // Used only by the thread that follows the log.
  std::set<LogEntry> seen_;  // rows after the cursor
  bool caught_up_ = false;   // with all visible rows
  Clock::time_point purge_again_ = {};
};

}  // namespace

Result<std::unique_ptr<Remote>> make_milvus_remote(MilvusOptions options) {
  if (!is_collection_name(options.collection))
    return fail(Code::kInvalid, "{} is not a valid collection name: use letters, digits and _",
                json::quote_briefly(options.collection));
  if (options.server.tls) {
    const auto trusted = http::Tls::for_client(options.server.ca_path, true);
    if (!trusted) return fail_in("milvus.connection.tls.ca_file", trusted.error());
  }
  std::unique_ptr<Remote> out = std::make_unique<MilvusRemote>(std::move(options));
  return out;
}

}  // namespace signalbox::cache
