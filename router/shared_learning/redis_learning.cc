// The scripts keep the record and the stream of one change together. A conversation that was used
// later stays, in whatever order the routers write.

#include "router/shared_learning/redis_learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "router/shared_learning/changes.h"
#include "router/stores/follower.h"
#include "router/stores/redis_config.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_learning {
namespace {

using learning::Conversation;
using learning::Tally;
using learning::Verdict;
using std::chrono::milliseconds;
using stores::RedisValue;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;

/// The place in the file, for the log.
constexpr std::string_view kSection = "global.router.learning.state_store";
constexpr WriteQueue::Words kWords{.area = "learning",
                                   .section = kSection,
                                   .records = "changes of what is learnt",
                                   .meanwhile = "wait in this router",
                                   .unwritten = "stay in this router"};

// KEYS: the prefix. Keeps the newest changes for 60 days.
constexpr std::string_view kCommon = R"(
local changes = KEYS[1] .. 'changes'
local function announce(...)
  redis.call('XADD', changes, 'MAXLEN', '~', {}, '*', ...)
  redis.call('EXPIRE', changes, 5184000)
end
)";

// ARGV: key, lifetime (ms), used (ms), fields. If a later use is known, the routers learn that
// again.
constexpr std::string_view kKeep = R"(
local at = KEYS[1] .. 'c:' .. ARGV[1]
if (tonumber(redis.call('HGET', at, 'used') or '0') or 0) > tonumber(ARGV[3]) then
  local entry = {'key', ARGV[1]}
  for i = 4, #ARGV, 2 do
    entry[#entry + 1] = ARGV[i]
    entry[#entry + 1] = redis.call('HGET', at, ARGV[i]) or ''
  end
  announce(unpack(entry))
  return 0
end
redis.call('HSET', at, unpack(ARGV, 4))
redis.call('PEXPIRE', at, ARGV[2])
announce('key', ARGV[1], unpack(ARGV, 4))
return 1
)";

// ARGV: key, moment (ms). Threads do not write in turn: what was used since then stays.
constexpr std::string_view kForget = R"(
local at = KEYS[1] .. 'c:' .. ARGV[1]
if (tonumber(redis.call('HGET', at, 'used') or '0') or 0) > tonumber(ARGV[2]) then return 0 end
redis.call('DEL', at)
announce('key', ARGV[1])
return 1
)";

// ARGV: name, the place of the verdict from 1, the sum at which all are halved, most names, the id
// of the verdict. Counts as Tally::add() does, and a verdict that is written again only once.
constexpr std::string_view kAdd = R"(
if not redis.call('SET', KEYS[1] .. 'v:' .. ARGV[5], '1', 'NX', 'PX', 86400000) then return 0 end
local at, counts, sum = KEYS[1] .. 'verdicts', {}, 0
for count in string.gmatch(redis.call('HGET', at, ARGV[1]) or '', '%d+') do
  counts[#counts + 1] = tonumber(count)
  sum = sum + tonumber(count)
end
if #counts ~= 4 then
  if redis.call('HLEN', at) >= tonumber(ARGV[4]) then return 0 end
  counts, sum = {0, 0, 0, 0}, 0
end
local verdict = tonumber(ARGV[2])
for i = 1, 4 do
  if sum >= tonumber(ARGV[3]) then counts[i] = math.floor(counts[i] / 2) end
  if i == verdict then counts[i] = counts[i] + 1 end
  counts[i] = string.format('%.0f', counts[i])
end
redis.call('HSET', at, ARGV[1], table.concat(counts, ' '))
announce('verdicts', ARGV[1], 'counts', table.concat(counts, ' '))
return 1
)";

constexpr std::string_view kReset = R"(
redis.call('DEL', KEYS[1] .. 'verdicts')
announce('reset', string.format('%.0f', redis.call('INCR', KEYS[1] .. 'resets')))
return 1
)";

// ARGV: the last reset that the router knows, then names and counts in turn. Those that are there
// stay, and nothing is restored after a reset that the router does not know.
constexpr std::string_view kRestore = R"(
if (redis.call('GET', KEYS[1] .. 'resets') or ARGV[1]) ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 2 do
  if redis.call('HSETNX', KEYS[1] .. 'verdicts', ARGV[i], ARGV[i + 1]) == 1 then
    announce('verdicts', ARGV[i], 'counts', ARGV[i + 1])
  end
end
return 1
)";

std::string script_of(std::string_view body) {
  std::string common(kCommon);
  const std::string_view place = "{}";
  common.replace(common.find(place), place.size(),
                 std::to_string(learning::Conversations::kCountMax));
  return common + std::string(body);
}

class RedisLearning final : public SharedLearning,
                            private learning::SharedConversations,
                            private learning::SharedOutcomes,
                            private stores::Followed {
 public:
  RedisLearning(Options options, learning::Memory& memory)
      : options_(std::move(options)),
        memory_(memory),
        redis_(options_.server),
        queue_(redis_.name(), options_.waiting_bytes, kWords),
        follower_({.server = options_.server,
                   .stream = options_.prefix + "changes",
                   .read_limit = options_.limit,
                   .grace = options_.grace},
                  queue_, *this) {
    memory_.conversations.share(this);
    memory_.outcomes.share(this);
  }
  ~RedisLearning() override {
    memory_.conversations.share(nullptr);
    memory_.outcomes.share(nullptr);
  }

  Stats stats() const override {
    const WriteQueue::Stats all = queue_.stats();
    return {.works = all.works,
            .waiting = all.waiting,
            .written = all.written,
            .refused = all.refused,
            .dropped = all.dropped};
  }
  size_t drain(Clock::time_point until) override { return queue_.drain(until); }

 private:
  // Changes that this router makes.
  void changed(const std::string& key, const Conversation& conversation) override;
  void forgotten(const std::string& key) override {
    queue(forget_, {key, std::to_string(Now().to_ms(Clock::now()))});
  }
  void added(const std::string& decision, const std::string& model, Verdict verdict) override;
  void reset() override { queue(reset_, {}); }

  // For the follower. Here a "deletion" is none: the stream has changes.
  std::string learn(const std::vector<std::string>& entry) override;
  Result<std::vector<stores::NamedDeletion>> deletions() override;
  Result<void> delete_again(std::span<const stores::NamedDeletion>) override { return {}; }
  std::vector<stores::LostRecord> records() override;

  Result<void> restore_verdicts(Fields lost);
  Result<void> run(const std::string& script, const Fields& words);
  void queue(const std::string& script, Fields words);
  void apply(Change change);

  const std::string keep_ = script_of(kKeep), forget_ = script_of(kForget), add_ = script_of(kAdd),
                    reset_ = script_of(kReset), restore_ = script_of(kRestore);
  const Options options_;
  learning::Memory& memory_;
  const uint64_t name_ = uint64_t{std::random_device()()} << 32 | std::random_device()();
  std::atomic<uint64_t> verdicts_ = 0;  // of this router so far
  // The counts that Redis had last, by name. The memory also counts verdicts that still wait, which
  // would count twice if Redis got them from there. Only the follower uses this.
  std::map<std::string, std::string> in_redis_;
  int64_t resets_ = 0;  // the number of the last one; only the follower uses this
  stores::Redis redis_;
  WriteQueue queue_;
  stores::Follower follower_;
};

Result<void> RedisLearning::run(const std::string& script, const Fields& words) {
  stores::Redis::Command command{"EVAL", script, "1", options_.prefix};
  command.insert(command.end(), words.begin(), words.end());
  SIGNALBOX_TRY_VOID(redis_.run(command, options_.limit));
  return {};
}

void RedisLearning::queue(const std::string& script, Fields words) {
  WriteQueue::Item item;
  for (const std::string& word : words) item.bytes += word.size() + sizeof word;
  item.write = [this, &script, words = std::move(words)] { return run(script, words); };
  queue_.add(std::move(item));
}

void RedisLearning::changed(const std::string& key, const Conversation& conversation) {
  const int64_t used_ms = Now().to_ms(conversation.used);
  auto fields = fields_of(conversation, used_ms);
  if (!fields) return;  // a name that is too long stays here
  const milliseconds lifetime = memory_.conversations.lifetime();
  Fields words{key, std::to_string(lifetime.count()), std::to_string(used_ms)};
  words.insert(words.end(), fields->begin(), fields->end());
  queue(keep_, std::move(words));
}

void RedisLearning::added(const std::string& decision, const std::string& model, Verdict verdict) {
  auto name = verdicts_name(decision, model);
  if (!name) return;
  queue(add_, {*std::move(name), std::to_string(static_cast<size_t>(verdict) + 1),
               std::to_string(Tally::kCountMax), std::to_string(learning::Outcomes::kTalliesMax),
               fmt::format("{:016x}-{}", name_, ++verdicts_)});
}

void RedisLearning::apply(Change change) {
  using Kind = Change::Kind;
  const Now now;
  switch (change.kind) {
    case Kind::kConversation:
      change.conversation.used = now.from_ms(change.used_ms);
      memory_.conversations.learn(change.key, std::move(change.conversation), now.steady);
      break;
    case Kind::kForgotten:
      memory_.conversations.unlearn(change.key);
      break;
    case Kind::kVerdicts:
      memory_.outcomes.learn(change.decision, change.model, change.tally);
      if (auto name = verdicts_name(change.decision, change.model);
          name && (in_redis_.contains(*name) || in_redis_.size() < learning::Outcomes::kTalliesMax))
        in_redis_[*std::move(name)] = counts_of(change.tally);
      break;
    case Kind::kReset:
      in_redis_.clear();
      resets_ = change.resets;
      static_cast<void>(memory_.outcomes.unlearn());
      break;
  }
}

std::string RedisLearning::learn(const std::vector<std::string>& entry) {
  if (auto change = read_change(entry)) apply(*std::move(change));
  return {};
}

// The stream may have lost the verdicts to newer changes, and Redis may have lost all of them. It
// gets these before verdicts that wait in a router, which are added to them.
Result<std::vector<stores::NamedDeletion>> RedisLearning::deletions() {
  const std::string at = options_.prefix + "verdicts";
  SIGNALBOX_TRY(const RedisValue all, redis_.run({"HGETALL", at}, options_.limit));
  std::set<std::string_view> found;
  for (size_t i = 0; i + 1 < all.items.size(); i += 2) {
    found.insert(all.items[i].text);
    if (auto change = read_verdicts(all.items[i].text, all.items[i + 1].text))
      apply(*std::move(change));
  }
  Fields lost{std::to_string(resets_)};
  for (const auto& [name, counts] : in_redis_) {
    if (!found.contains(name)) lost.insert(lost.end(), {name, counts});
  }
  if (lost.size() > 1) SIGNALBOX_TRY_VOID(restore_verdicts(std::move(lost)));
  return std::vector<stores::NamedDeletion>();
}

Result<void> RedisLearning::restore_verdicts(Fields lost) {
  auto restored = run(restore_, lost);
  if (restored || restored.error().code != Code::kUpstream) return restored;
  queue(restore_, std::move(lost));  // the server is full
  return {};
}

// Another router may have forgotten a conversation meanwhile.
std::vector<stores::LostRecord> RedisLearning::records() {
  std::vector<stores::LostRecord> out;
  for (const auto& [key, conversation] : memory_.conversations.all())
    out.push_back({options_.prefix + "c:" + key, sizeof conversation, [this, key = key] {
                     if (const auto kept = memory_.conversations.find(key, Now().steady))
                       changed(key, *kept);
                   }});
  return out;
}

}  // namespace

std::unique_ptr<SharedLearning> make_redis_learning(Options options, learning::Memory& memory) {
  return std::make_unique<RedisLearning>(std::move(options), memory);
}

Result<std::unique_ptr<SharedLearning>> open(const config::Learning::StateStore& store,
                                             learning::Memory& memory) {
  auto server = stores::redis_server(store.redis);
  if (!server) return fail_in(kSection, std::move(server).error());
  Options options{.server = *std::move(server)};
  if (!store.redis.key_prefix.empty()) options.prefix = store.redis.key_prefix;
  if (store.timeout_ms != 0) options.limit = milliseconds(store.timeout_ms);
  return make_redis_learning(std::move(options), memory);
}

}  // namespace signalbox::shared_learning
