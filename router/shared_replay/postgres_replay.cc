// Each call is one statement, so that routers find a record whole or not at all.

#include "router/shared_replay/postgres_replay.h"

#include <algorithm>
#include <utility>

#include "router/shared_replay/statements.h"
#include "router/stores/postgres_feed.h"

namespace signalbox::shared_replay {
namespace {

using std::chrono::milliseconds;
using stores::number_of;
using stores::Postgres;
using Rows = std::vector<Postgres::Row>;

class PostgresReplay final : public ReplayServer {
 public:
  PostgresReplay(const PostgresOptions& options, std::unique_ptr<Postgres> server)
      : options_(options), do_(options.table), server_(std::move(server)) {}

  const std::string& name() const override { return server_->name(); }
  Result<void> add(const NewRecord& record, milliseconds age) override;
  Result<RecordPage> list(const std::vector<std::string>& names, size_t offset,
                          size_t limit) override;
  Result<std::optional<FoundRecord>> find(std::string_view id) override;
  Result<Removed> remove(const Deletion& deletion, bool is_first) override;
  Result<bool> add_outcome(std::string_view id, std::string_view json) override {
    const std::string token = new_token();
    SIGNALBOX_TRY(const Rows rows,
                  server_->run(do_.add_outcome, {id, json, token}, options_.write_limit));
    return rows[0][0] == "true";
  }
  Result<bool> add_shadow(std::string_view id, std::string_view json, std::string_view text,
                          std::string_view token) override {
    SIGNALBOX_TRY(const Rows rows, server_->run(do_.add_shadow, {id, json, token, text},
                                                options_.write_limit, do_.lock_shared));
    return rows[0][0] == "true";
  }
  milliseconds read_limit() const override { return options_.read_limit; }
  std::unique_ptr<stores::Feed> feed() override {
    return stores::make_postgres_feed(*server_, {.name = options_.table,
                                                 .records = options_.table + "_records",
                                                 .clean = [this] { return clean(); },
                                                 .area = "replay"});
  }

 private:
  Result<void> clean();

  const PostgresOptions options_;
  const Statements do_;
  const std::unique_ptr<Postgres> server_;
};

Result<void> PostgresReplay::add(const NewRecord& record, milliseconds age) {
  const std::string names = stores::array_of(record.names),
                    scopes = stores::array_of(record.scopes), since = std::to_string(age.count()),
                    lasts = std::to_string(age_max_ms_),
                    texts_last = std::to_string(record.texts_last.count());
  const auto is_cut = [](const NewRecord::Body& body) { return body.is_cut ? "true" : "false"; };
  SIGNALBOX_TRY_VOID(server_->run(
      do_.add,
      {record.id, record.json, names, scopes, since, lasts, texts_last, record.request.text,
       is_cut(record.request), record.response.text, is_cut(record.response)},
      options_.write_limit, do_.lock_shared));
  return {};
}

Result<RecordPage> PostgresReplay::list(const std::vector<std::string>& names, size_t offset,
                                        size_t limit) {
  const std::string lasts = std::to_string(age_max_ms_), first = std::to_string(offset),
                    most = std::to_string(limit), chosen = stores::array_of(names);
  SIGNALBOX_TRY(Rows rows,
                names.empty()
                    ? server_->run(do_.list_all, {lasts, first, most}, options_.read_limit)
                    : server_->run(do_.list, {lasts, first, most, chosen}, options_.read_limit));
  RecordPage out;
  for (Postgres::Row& row : rows) {
    out.total = number_of(row[0]);
    if (!row[1].empty()) out.records.push_back(std::move(row[1]));
  }
  return out;
}

Result<std::optional<FoundRecord>> PostgresReplay::find(std::string_view id) {
  SIGNALBOX_TRY(Rows rows, server_->run(do_.find, {id}, options_.read_limit));
  FoundRecord found;
  bool is_there = false;
  for (Postgres::Row& row : rows) {
    const std::string& kind = row[0];
    const size_t number = number_of(row[1]);
    const bool is_cut = row[3] == "true";
    std::string& bytes = row[2];
    if (kind == "record") {
      found.json = std::move(bytes);
      found.had_texts = is_cut;
      is_there = true;
    } else if (kind == "request") {
      found.request = {std::move(bytes), is_cut};
    } else if (kind == "response") {
      found.response = {std::move(bytes), is_cut};
    } else if (kind == "outcome") {
      found.outcomes.push_back(std::move(bytes));
    } else if (number < kShadowsMax) {
      found.shadows.resize(std::max(found.shadows.size(), number + 1));
      auto& [json, response] = found.shadows[number];
      (kind == "shadow" ? json : response) = std::move(bytes);
    }
  }
  return is_there ? std::optional(std::move(found)) : std::nullopt;
}

Result<Removed> PostgresReplay::remove(const Deletion& deletion, bool is_first) {
  const std::string moment = std::to_string(deletion.moment), scope = deletion.scope(),
                    names = stores::array_of(deletion.indices());
  SIGNALBOX_TRY(const Rows rows,
                server_->run(is_first ? do_.remove_first : do_.remove, {moment, scope, names},
                             options_.write_limit, do_.lock));
  const size_t count = number_of(rows[0][0]);
  return Removed{
      .count = count, .moment = number_of(rows[0][1]), .may_remain = count == kRemovedAtOnce};
}

Result<void> PostgresReplay::clean() {
  const std::string records = std::to_string(records_max_), bytes = std::to_string(all_bytes_max_);
  const auto run = [this](const std::string& statement, Postgres::Parameters parameters) {
    return server_->run(statement, parameters, options_.write_limit, do_.lock);
  };
  SIGNALBOX_TRY_VOID(run(do_.drop_texts, {}));
  SIGNALBOX_TRY_VOID(run(do_.drop_forgotten, {}));
  SIGNALBOX_TRY_VOID(run(do_.drop_records, {records}));
  if (all_bytes_max_ != 0) SIGNALBOX_TRY_VOID(run(do_.drop_bytes, {bytes}));
  return {};
}

}  // namespace

Result<std::unique_ptr<ReplayServer>> make_postgres_replay(const PostgresOptions& options) {
  SIGNALBOX_TRY(auto server, stores::make_postgres(options.server, tables(options.table)));
  std::unique_ptr<ReplayServer> out = std::make_unique<PostgresReplay>(options, std::move(server));
  return out;
}

}  // namespace signalbox::shared_replay
