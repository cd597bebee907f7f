// Each call is one script, so that routers find a record whole or not at all.

#include "router/shared_replay/redis_replay.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "router/shared_replay/scripts.h"

namespace signalbox::shared_replay {
namespace {

using std::chrono::milliseconds;
using stores::RedisValue;
using Words = std::vector<std::string>;

constexpr int64_t kDeletedAtOnce = 500;

std::string text_of(const RedisValue& list, size_t i) {
  return i < list.items.size() ? list.items[i].text : std::string();
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, " "));
}

class RedisReplay final : public ReplayServer {
 public:
  explicit RedisReplay(RedisOptions options)
      : options_(std::move(options)), redis_(options_.server) {}

  const std::string& name() const override { return redis_.name(); }
  Result<void> add(const NewRecord& record, milliseconds age) override;
  Result<RecordPage> list(const std::vector<std::string>& names, size_t offset,
                          size_t limit) override;
  Result<std::optional<FoundRecord>> find(std::string_view id) override;
  Result<Removed> remove(const Deletion& deletion, bool is_first) override;
  Result<bool> add_outcome(std::string_view id, std::string_view json) override {
    SIGNALBOX_TRY(const RedisValue added,
                  run(outcome_script(), {std::string(id), std::string(json)}, options_.read_limit));
    return added.number == 1;
  }
  Result<bool> add_shadow(std::string_view id, std::string_view json, std::string_view text,
                          std::string_view) override {
    SIGNALBOX_TRY(const RedisValue added,
                  run(shadow_script(), {std::string(id), std::string(json), std::string(text)},
                      options_.write_limit));
    return added.number == 1;
  }
  milliseconds read_limit() const override { return options_.read_limit; }
  std::unique_ptr<stores::Feed> feed() override {
    return stores::make_redis_feed(options_.server, options_.prefix + "deleted");
  }

 private:
  Result<RedisValue> run(std::string_view script, const Words& words, milliseconds limit) {
    stores::Redis::Command command{"EVAL", script, "1", options_.prefix};
    command.insert(command.end(), words.begin(), words.end());
    return redis_.run(command, limit);
  }

  const RedisOptions options_;
  stores::Redis redis_;
};

Result<void> RedisReplay::add(const NewRecord& record, milliseconds age) {
  Words words{record.id,
              record.json,
              joined(record.names),
              joined(record.scopes),
              std::to_string(age.count()),
              std::to_string(age_max_ms_),
              std::to_string(records_max_),
              std::to_string(record.texts_last.count()),
              std::to_string(all_bytes_max_)};
  const auto add_body = [&words](const char* name, const NewRecord::Body& body) {
    if (body.text.empty()) return;
    words.insert(words.end(),
                 {name, body.text, std::string(name) + "_cut", body.is_cut ? "1" : "0"});
  };
  add_body("request", record.request);
  add_body("response", record.response);
  SIGNALBOX_TRY_VOID(run(add_script(), words, options_.write_limit));
  return {};
}

Result<RecordPage> RedisReplay::list(const std::vector<std::string>& names, size_t offset,
                                     size_t limit) {
  Words words{std::to_string(age_max_ms_), std::to_string(offset), std::to_string(limit)};
  words.insert(words.end(), names.begin(), names.end());
  SIGNALBOX_TRY(RedisValue found, run(list_script(), words, options_.read_limit));
  if (found.items.empty())
    return fail(Code::kIo, "{}: a script returned an unexpected reply", redis_.name());
  RecordPage out{.total = static_cast<uint64_t>(found.items[0].number)};
  for (size_t i = 1; i < found.items.size(); ++i)
    out.records.push_back(std::move(found.items[i].text));
  return out;
}

Result<std::optional<FoundRecord>> RedisReplay::find(std::string_view id) {
  SIGNALBOX_TRY(const RedisValue found, run(find_script(), {std::string(id)}, options_.read_limit));
  if (found.items.size() != 6) return std::nullopt;
  const RedisValue& bodies = found.items[2];
  FoundRecord out{.json = found.items[0].text,
                  .had_texts = found.items[1].text == "1",
                  .request = {text_of(bodies, 0), text_of(bodies, 1) == "1"},
                  .response = {text_of(bodies, 2), text_of(bodies, 3) == "1"}};
  for (const RedisValue& each : found.items[3].items) out.outcomes.push_back(each.text);
  const RedisValue& shadows = found.items[4];
  for (size_t i = 0; i < shadows.items.size(); ++i)
    out.shadows.push_back({shadows.items[i].text, text_of(found.items[5], i)});
  return out;
}

Result<Removed> RedisReplay::remove(const Deletion& deletion, bool is_first) {
  Words words{std::to_string(deletion.moment), is_first ? "1" : "0", deletion.scope(),
              std::to_string(kDeletedAtOnce)};
  for (std::string& name : deletion.indices()) words.push_back(std::move(name));
  SIGNALBOX_TRY(const RedisValue done, run(remove_script(), words, options_.write_limit));
  if (done.items.size() != 3)
    return fail(Code::kIo, "{}: a script returned an unexpected reply", redis_.name());
  Removed out{.count = static_cast<size_t>(done.items[0].number),
              .may_remain = done.items[2].number == kDeletedAtOnce};
  const std::string& moment = done.items[1].text;
  std::from_chars(moment.data(), moment.data() + moment.size(), out.moment);
  return out;
}

}  // namespace

std::unique_ptr<ReplayServer> make_redis_replay(RedisOptions options) {
  return std::make_unique<RedisReplay>(std::move(options));
}

}  // namespace signalbox::shared_replay
