// Every change is one transaction, so that no router sees half of it.

#include "router/contexts/redis_level.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#include "base/log.h"
#include "router/contexts/record.h"
#include "router/contexts/zstd.h"
#include "router/upstream/breaker.h"

namespace signalbox::contexts {
namespace {

using std::chrono::milliseconds;
using stores::RedisValue;
using Command = stores::Redis::Command;
using Commands = std::vector<Command>;

constexpr std::string_view kLogMax =
    "100000";  // about this many entries; a router that is further behind reads everything
constexpr std::string_view kNamesAtOnce = "256";
constexpr std::string_view kGone = "gone", kThere = "there", kPinned = "pinned";
/// A router that was away for longer may bring back contexts that were dropped in the meantime.
constexpr int64_t kDropsKeptS = 30 * 24 * 3600;

std::string milliseconds_of(int64_t seconds) {
  return std::to_string(seconds * 1000);
}

std::optional<int64_t> number_in(const RedisValue& value) {
  int64_t out = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [at, error] = std::from_chars(value.text.data(), end, out);
  if (!value.is_text() || error != std::errc() || at != end) return std::nullopt;
  return out;
}

std::string new_origin() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

class RedisLevel final : public SharedLevel {
 public:
  explicit RedisLevel(RedisLevelOptions options)
      : options_(std::move(options)),
        redis_(options_.server),
        names_(options_.prefix + "names"),
        pins_(options_.prefix + "pins"),
        log_(options_.prefix + "log"),
        last_byte_(std::to_string(kHeadBytesMax - 1)) {}

  std::string_view name() const override { return "redis"; }

  Result<uint64_t> put(const Context& context, std::string_view content, int64_t ttl_s) override {
    const std::string packed = compress(content, options_.compression);
    const std::string head = write_head(context, packed.size());
    const std::string record = head + packed, name = name_of(context.key);
    const std::string at = record_of(name), was_dropped = drop_of(name);
    const std::string ttl_ms = milliseconds_of(ttl_s);
    Command set{"SET", at, record};
    if (ttl_s != 0 && !context.pinned) set.insert(set.end(), {"PX", ttl_ms});
    Commands all{set, {"DEL", was_dropped}, {"SADD", names_, name}};
    if (context.pinned) all.push_back({"SADD", pins_, name});
    all.push_back(log_command(context.pinned ? kPinned : kThere, head));
    SIGNALBOX_TRY_VOID(change(std::move(all)));
    return packed.size();
  }

  Result<std::string> get(const Context& context) override {
    const std::string at = record_of(name_of(context.key));
    // A packed context is hardly longer than the unpacked one.
    const std::string last = std::to_string(2 * (kHeadBytesMax + context.bytes));
    SIGNALBOX_TRY(const auto values, run({{"GETRANGE", at, "0", last}}, options_.read_limit));
    const std::string& record = values.front().text;
    if (record.empty()) return fail(Code::kNotFound, "{}: not there", context.key.id);
    const auto head = read_head(record);
    if (head && head->context.key != context.key)
      return fail(Code::kCorrupt, "{}: it contains another context", redis_.name());
    auto content = read_content(record, context.bytes);
    if (content) return content;
    return fail(Code::kCorrupt, "{}: {}", redis_.name(), content.error().message);
  }

  Result<std::optional<Shared>> find(const Key& key) override {
    const std::string name = name_of(key), at = record_of(name);
    SIGNALBOX_TRY(
        const auto values,
        run({{"GETRANGE", at, "0", last_byte_}, {"SISMEMBER", pins_, name}}, options_.read_limit));
    return shared_in(values[0], name, values[1].number != 0);
  }

  Result<bool> touch(const Context& context, int64_t ttl_s) override {
    const std::string name = name_of(context.key), at = record_of(name);
    const std::string ttl_ms = milliseconds_of(ttl_s);
    Commands all{{"EXISTS", at}, {"SADD", names_, name}};
    context.pinned || ttl_s == 0 ? all.push_back({"PERSIST", at})
                                 : all.push_back({"PEXPIRE", at, ttl_ms});
    SIGNALBOX_TRY(const auto values, run(all, options_.write_limit));
    return values.front().number != 0;
  }

  Result<std::optional<int64_t>> idle(const Context& context, int64_t ttl_s) override {
    const std::string at = record_of(name_of(context.key));
    SIGNALBOX_TRY(const auto values, run({{"PTTL", at}}, options_.read_limit));
    const int64_t left_ms = values.front().number;
    if (left_ms == -2) return std::nullopt;
    if (left_ms < 0) return 0;
    return std::max<int64_t>(0, ttl_s - left_ms / 1000);
  }

  Result<void> drop(const Context& context, int64_t ttl_s) override {
    const std::string name = name_of(context.key);
    const std::string at = record_of(name), dropped_at = drop_of(name);
    const std::string when = std::to_string(std::time(nullptr));
    const std::string kept_ms = milliseconds_of(std::max(ttl_s, kDropsKeptS));
    const std::string head = write_head(context, 0);
    return change({{"DEL", at},
                   {"SET", dropped_at, when, "PX", kept_ms},
                   {"SREM", names_, name},
                   {"SREM", pins_, name},
                   log_command(kGone, head)});
  }

  Result<void> pin(const Context& context, int64_t ttl_s) override {
    const std::string name = name_of(context.key), at = record_of(name);
    const std::string ttl_ms = milliseconds_of(ttl_s), head = write_head(context, 0);
    Commands all{{context.pinned ? "SADD" : "SREM", pins_, name}};
    context.pinned || ttl_s == 0 ? all.push_back({"PERSIST", at})
                                 : all.push_back({"PEXPIRE", at, ttl_ms});
    all.push_back(log_command(context.pinned ? kPinned : kThere, head));
    return change(std::move(all));
  }

  Result<Survey> survey() override {
    Survey out;
    // Read the end of the log first: follow() then returns changes that happen during the survey
    // once more.
    SIGNALBOX_TRY(const auto before,
                  run({{"XREVRANGE", log_, "+", "-", "COUNT", "1"}, {"SMEMBERS", pins_}},
                      options_.read_limit));
    const auto& last = before[0].items;
    out.cursor = last.empty() || last[0].items.empty() ? "0-0" : last[0].items[0].text;
    std::set<std::string> pinned;
    for (const RedisValue& each : before[1].items) pinned.insert(each.text);
    std::string from = "0";
    do {
      SIGNALBOX_TRY(const auto page,
                    run({{"SSCAN", names_, from, "COUNT", kNamesAtOnce}}, options_.read_limit));
      if (page.front().items.size() != 2) return unexpected_reply("SSCAN");
      from = page.front().items[0].text;
      SIGNALBOX_TRY_VOID(read_heads(page.front().items[1].items, pinned, out.all));
    } while (from != "0");
    return out;
  }

  Result<std::vector<std::optional<int64_t>>> dropped(std::span<const Key> keys) override {
    std::vector<std::optional<int64_t>> out;
    constexpr size_t kAtOnce = 256;
    for (size_t done = 0; done < keys.size(); done += kAtOnce) {
      const auto part = keys.subspan(done, std::min(kAtOnce, keys.size() - done));
      std::vector<std::string> where;
      for (const Key& key : part) where.push_back(drop_of(name_of(key)));
      Commands all;
      for (const std::string& each : where) all.push_back({"GET", each});
      SIGNALBOX_TRY(const auto values, run(all, options_.read_limit));
      for (const RedisValue& value : values) out.push_back(number_in(value));
    }
    return out;
  }

  Result<std::vector<SharedChange>> follow(std::string& cursor, milliseconds wait) override {
    // Do not report this to the breaker: a long wait for changes is not a slow reply.
    auto entries = redis_.follow(log_, cursor, wait, options_.read_limit);
    if (!entries) return as_upstream(entries.error());
    std::vector<SharedChange> out;
    for (const auto& entry : *entries) {
      // "what", the state, "by", the origin, "head", the head
      if (entry.size() != 6) continue;
      const bool is_gone = entry[1] == kGone;
      if (!is_gone && entry[3] == origin_) continue;
      auto head = read_head(entry[5]);
      if (!head) continue;  // written by another version
      head->context.pinned = entry[1] == kPinned;
      head->context.shared = true;
      out.push_back({{std::move(head->context), head->packed_bytes}, is_gone});
    }
    return out;
  }

 private:
  std::string record_of(const std::string& name) const { return options_.prefix + "c:" + name; }
  std::string drop_of(const std::string& name) const { return options_.prefix + "d:" + name; }
  Command log_command(std::string_view what, std::string_view head) const {
    return {"XADD", log_, "MAXLEN", "~", kLogMax, "*", "what", what, "by", origin_, "head", head};
  }

  tl::unexpected<Error> unexpected_reply(std::string_view command) const {
    return fail(Code::kUpstream, "{}: {} returned an unexpected reply", redis_.name(), command);
  }
  static tl::unexpected<Error> as_upstream(Error error) {
    error.code = Code::kUpstream;
    return tl::unexpected(std::move(error));
  }

  /// Logs once when the server fails or returns an error, and once when it works again.
  void report_result(const Error* error) {
    const bool responds = error == nullptr || error->code == Code::kUpstream;
    const bool changed = breaker_.record(responds, std::chrono::steady_clock::now());
    if (changed && responds) log::info("context", "{} works again", redis_.name());
    if (changed && !responds)
      log::warn("context", "{}; it is not called for a moment, and contexts stay in this router",
                error->message);
    const std::lock_guard lock(mutex_);
    const std::string refusal = error != nullptr && responds ? error->message : "";
    if (!refusal.empty() && refusal != refusal_) log::warn("context", "{}", refusal);
    if (responds) refusal_ = refusal;
  }

  Result<std::vector<RedisValue>> run(const Commands& commands, milliseconds limit) {
    if (!breaker_.allows(std::chrono::steady_clock::now()))
      return fail(Code::kUpstream, "{} does not respond and is not called for a moment",
                  redis_.name());
    auto out = redis_.run_all(commands, limit);
    report_result(out ? nullptr : &out.error());
    if (!out) return as_upstream(std::move(out).error());
    return out;
  }

  Result<void> change(Commands commands) {
    commands.insert(commands.begin(), Command{"MULTI"});
    commands.push_back({"EXEC"});
    SIGNALBOX_TRY(const auto values, run(commands, options_.write_limit));
    return {};
  }

  /// Returns nullopt if there is no head, or one that does not match its name.
  std::optional<Shared> shared_in(const RedisValue& front, const std::string& name,
                                  bool is_pinned) const {
    auto head = read_head(front.text);
    if (!head || name_of(head->context.key) != name) return std::nullopt;
    head->context.pinned = is_pinned;
    head->context.shared = true;
    return Shared{std::move(head->context), head->packed_bytes};
  }

  Result<void> read_heads(const std::vector<RedisValue>& names, const std::set<std::string>& pinned,
                          std::vector<Shared>& into) {
    if (names.empty()) return {};
    std::vector<std::string> where;
    for (const RedisValue& each : names) where.push_back(record_of(each.text));
    Commands all;
    for (const std::string& each : where) all.push_back({"GETRANGE", each, "0", last_byte_});
    SIGNALBOX_TRY(const auto fronts, run(all, options_.read_limit));
    Command gone{"SREM", names_};
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string& name = names[i].text;
      if (auto shared = shared_in(fronts[i], name, pinned.contains(name)))
        into.push_back(*std::move(shared));
      if (fronts[i].text.empty()) gone.push_back(name);
    }
    if (gone.size() == 2) return {};
    SIGNALBOX_TRY(const auto removed, run({gone}, options_.write_limit));
    return {};
  }

  const RedisLevelOptions options_;
  stores::Redis redis_;
  const std::string names_, pins_, log_;
  const std::string last_byte_;  // the index of the last byte of a head
  const std::string origin_ = new_origin();
  upstream::Breaker breaker_;
  std::mutex mutex_;
  std::string refusal_;  // the last error reply that was logged
};

}  // namespace

std::unique_ptr<SharedLevel> make_redis_level(RedisLevelOptions options) {
  return std::make_unique<RedisLevel>(std::move(options));
}

}  // namespace signalbox::contexts
