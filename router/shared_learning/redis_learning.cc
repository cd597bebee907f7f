// Each script writes a record and its entry in the stream in one step. The later use of a
// conversation wins, in whatever order the routers write.

#include "router/shared_learning/redis_learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/sha256.h"
#include "router/shared_learning/changes.h"
#include "router/stores/follower.h"
#include "router/stores/redis_config.h"
#include "router/stores/write_queue.h"

namespace signalbox::shared_learning {
namespace {

using learning::Conversation;
using learning::Regression;
using learning::Tally;
using learning::Verdict;
using std::chrono::milliseconds;
using stores::RedisValue;
using stores::WriteQueue;
using Clock = WriteQueue::Clock;

/// The most sums of one exchange, which are half a megabyte.
constexpr size_t kSumsAtOnce = 256;

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

// ARGV: key, lifetime (ms), used (ms), fields. If Redis has a later use, it announces that one
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

// ARGV: key, moment (ms). Threads may write out of order, so a conversation that was used after the
// moment stays.
constexpr std::string_view kForget = R"(
local at = KEYS[1] .. 'c:' .. ARGV[1]
if (tonumber(redis.call('HGET', at, 'used') or '0') or 0) > tonumber(ARGV[2]) then return 0 end
redis.call('DEL', at)
announce('key', ARGV[1])
return 1
)";

// Adds the features of one more request to the sums of a name, as Regression::add() does, and
// returns true. Sums that have another form or exceed their bounds stay as they are. The script
// does not check whether verdicts can lead to the sums; routers do.
constexpr std::string_view kSum = R"(
local function are_sums(all, size, text, steps, reward_most, count_most)
  if #all ~= 2 + size + size * (size + 1) / 2 or table.concat(all, ' ') ~= text then return false end
  local products_most = all[2] * steps * steps
  if all[1] ~= 1 or all[2] < 1 or all[2] > count_most or all[3 + size] ~= products_most then
    return false
  end
  for i = 3, 2 + size do
    if math.abs(all[i]) > all[2] * steps * reward_most then return false end
  end
  for i = 3 + size, #all do
    if all[i] < 0 or all[i] > products_most then return false end
  end
  return true
end
local function sum_up(name, features, reward, reward_most, count_most, names_most)
  local at, size, steps, all = KEYS[1] .. 'sums', #features, {}, {}
  for i = 1, size do steps[i] = tonumber(string.sub(features, i, i)) end
  local text = redis.call('HGET', at, name)
  if text then
    for number in string.gmatch(text, '%-?%d+') do all[#all + 1] = tonumber(number) end
    if not are_sums(all, size, text, steps[1], reward_most, count_most) then return false end
  else
    if redis.call('HLEN', at) >= names_most then return false end
    for i = 1, 2 + size + size * (size + 1) / 2 do all[i] = 0 end
    all[1] = 1
  end
  if all[2] >= count_most then
    for i = 2, #all do
      local half = all[i] / 2
      all[i] = (half < 0 and math.ceil(half) or math.floor(half)) + 0
    end
  end
  all[2] = all[2] + 1
  local place = 2 + size
  for i = 1, size do
    all[2 + i] = all[2 + i] + reward * steps[i]
    for j = 1, i do
      all[place + j] = all[place + j] + steps[i] * steps[j]
    end
    place = place + i
  end
  for i = 1, #all do all[i] = string.format('%.0f', all[i]) end
  redis.call('HSET', at, name, table.concat(all, ' '))
  return true
end
)";

// ARGV: name, the place of the verdict from 1, the sum at which all are halved, most names, the id
// of the verdict, the steps of its features as digits ("": none are known), its reward, the
// greatest reward, the count at which the sums are halved. Counts as Tally::add() does. A repeated
// verdict counts once; the router that counted it twice then learns the counts of Redis.
constexpr std::string_view kAdd = R"(
local at, counts, sum = KEYS[1] .. 'verdicts', {}, 0
local counted = KEYS[1] .. 'v:' .. (redis.call('GET', KEYS[1] .. 'resets') or '0') .. ':' .. ARGV[5]
if not redis.call('SET', counted, '1', 'NX', 'PX', 86400000) then
  local known = redis.call('HGET', at, ARGV[1])
  if known then
    announce('verdicts', ARGV[1], 'counts', known)
    announce('sums', ARGV[1])
  end
  return 0
end
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
counts = table.concat(counts, ' ')
redis.call('HSET', at, ARGV[1], counts)
announce('verdicts', ARGV[1], 'counts', counts)
if ARGV[6] ~= '' and sum_up(ARGV[1], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]),
                            tonumber(ARGV[9]), tonumber(ARGV[4])) then
  announce('sums', ARGV[1])
end
return 1
)";

constexpr std::string_view kReset = R"(
redis.call('DEL', KEYS[1] .. 'verdicts', KEYS[1] .. 'sums')
announce('reset', string.format('%.0f', redis.call('INCR', KEYS[1] .. 'resets')))
return 1
)";

// ARGV: the last reset that the router knows, then names, counts and sums in turn; "": there are no
// sums. Existing ones stay. Nothing is restored after a reset that the router does not know.
constexpr std::string_view kRestore = R"(
if (redis.call('GET', KEYS[1] .. 'resets') or ARGV[1]) ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 3 do
  if redis.call('HSETNX', KEYS[1] .. 'verdicts', ARGV[i], ARGV[i + 1]) == 1 then
    announce('verdicts', ARGV[i], 'counts', ARGV[i + 1])
    if ARGV[i + 2] ~= '' and redis.call('HSETNX', KEYS[1] .. 'sums', ARGV[i], ARGV[i + 2]) == 1 then
      announce('sums', ARGV[i])
    end
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
        follower_(stores::make_redis_feed(options_.server, options_.prefix + "changes"),
                  {.read_limit = options_.limit, .grace = options_.grace}, queue_, *this) {
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
  void added(const std::string& decision, const std::string& model, Verdict verdict,
             const learning::Features* features, const std::string& key) override;
  void reset() override { queue(reset_, {}); }

  // For the follower. Here the stream contains changes instead of deletions.
  std::string learn(const std::vector<std::string>& entry) override;
  Result<std::vector<stores::NamedDeletion>> deletions() override;
  Result<void> delete_again(std::span<const stores::NamedDeletion>) override { return {}; }
  Result<void> learnt() override;
  std::vector<stores::LostRecord> records() override;

  bool learn_sums(const std::string& name, std::string_view text);
  Result<void> restore_verdicts(const std::set<std::string>& found);
  Result<void> restore(Fields lost);
  Result<void> run(const std::string& script, const Fields& words);
  void queue(const std::string& script, Fields words);
  void apply(Change change);

  const std::string keep_ = script_of(kKeep), forget_ = script_of(kForget),
                    add_ = script_of(std::string(kSum) + std::string(kAdd)),
                    reset_ = script_of(kReset), restore_ = script_of(kRestore);
  const Options options_;
  learning::Memory& memory_;
  const uint64_t name_ = uint64_t{std::random_device()()} << 32 | std::random_device()();
  std::atomic<uint64_t> verdicts_ = 0;  // of this router so far
  // The outcomes that Redis had last, by name. The memory also counts verdicts that still wait,
  // which would count twice if Redis got them from there. Only the follower uses this.
  std::map<std::string, learning::Known> in_redis_;
  // Every name in them is a key of in_redis_. Only the follower uses them.
  std::set<std::string> changed_sums_, refused_sums_;
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

void RedisLearning::added(const std::string& decision, const std::string& model, Verdict verdict,
                          const learning::Features* features, const std::string& key) {
  auto name = verdicts_name(decision, model);
  if (!name) return;
  std::string steps;
  if (features != nullptr) {
    for (const uint8_t step : features->steps) steps += std::to_string(step);
  }
  queue(add_, {*std::move(name), std::to_string(static_cast<size_t>(verdict) + 1),
               std::to_string(Tally::kCountMax), std::to_string(learning::Outcomes::kTalliesMax),
               key.empty() ? fmt::format("{:016x}-{}", name_, ++verdicts_) : sha256_hex(key),
               std::move(steps), std::to_string(Regression::reward_of(verdict)),
               std::to_string(Regression::kRewardMost), std::to_string(Regression::kCountMax)});
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
      memory_.outcomes.learn(change.decision, change.model, {.tally = change.tally});
      if (auto name = verdicts_name(change.decision, change.model);
          name && (in_redis_.contains(*name) || in_redis_.size() < learning::Outcomes::kTalliesMax))
        in_redis_[*std::move(name)].tally = change.tally;
      break;
    case Kind::kSums:
      if (auto name = verdicts_name(change.decision, change.model);
          name && in_redis_.contains(*name))
        changed_sums_.insert(*std::move(name));
      break;
    case Kind::kReset:
      in_redis_.clear();
      changed_sums_.clear();
      refused_sums_.clear();
      resets_ = change.resets;
      static_cast<void>(memory_.outcomes.unlearn());
      break;
  }
}

std::string RedisLearning::learn(const std::vector<std::string>& entry) {
  if (auto change = read_change(entry)) apply(*std::move(change));
  return {};
}

// Returns false if the sums are refused for the first time. Those that the router knows stay.
bool RedisLearning::learn_sums(const std::string& name, std::string_view text) {
  const auto known = in_redis_.find(name);
  const auto change = read_change({"sums", name});
  auto sums = read_sums(text);
  if (!sums) return !refused_sums_.insert(name).second;
  refused_sums_.erase(name);
  known->second.regression = std::move(sums);
  memory_.outcomes.learn(change->decision, change->model, known->second);
  return true;
}

// Reads the sums of each changed name once, however many verdicts it got meanwhile.
Result<void> RedisLearning::learnt() {
  size_t refused = 0;
  std::string example;
  Result<void> out;
  while (out && !changed_sums_.empty()) {
    const auto end = std::next(changed_sums_.begin(),
                               std::min(std::ssize(changed_sums_), std::ptrdiff_t{kSumsAtOnce}));
    const std::vector<std::string> names(changed_sums_.begin(), end);
    const std::string at = options_.prefix + "sums";
    stores::Redis::Command command{"HMGET", at};
    command.insert(command.end(), names.begin(), names.end());
    const auto found = redis_.run(command, options_.limit);
    if (!found) {
      out = tl::unexpected(found.error());
      continue;
    }
    for (size_t i = 0; i < std::min(names.size(), found->items.size()); ++i) {
      if (!found->items[i].is_text() || learn_sums(names[i], found->items[i].text)) continue;
      ++refused;
      example = names[i];
    }
    changed_sums_.erase(changed_sums_.begin(), end);
  }
  if (refused > 0) {
    log::warn("learning",
              "{}: {}sums in {} has a form that this router does not write for {} models, such as "
              "{}. They stay as they are, and nothing is learnt from them. DELETE "
              "/v1/router/outcomes deletes them",
              kSection, options_.prefix, redis_.name(), refused, json::quote_briefly(example));
  }
  return out;
}

// Newer changes may have pushed verdicts out of the stream, and Redis may have lost all of them.
// Redis must get these back before the verdicts that still wait, which are added to them.
Result<std::vector<stores::NamedDeletion>> RedisLearning::deletions() {
  const std::string at = options_.prefix + "verdicts";
  SIGNALBOX_TRY(const RedisValue all, redis_.run({"HGETALL", at}, options_.limit));
  std::set<std::string> found;
  for (size_t i = 0; i + 1 < all.items.size(); i += 2) {
    const std::string& name = all.items[i].text;
    found.insert(name);
    auto change = read_verdicts(name, all.items[i + 1].text);
    if (!change) continue;
    apply(*std::move(change));
    if (in_redis_.contains(name)) changed_sums_.insert(name);
  }
  SIGNALBOX_TRY_VOID(learnt());
  SIGNALBOX_TRY_VOID(restore_verdicts(found));
  return std::vector<stores::NamedDeletion>();
}

Result<void> RedisLearning::restore_verdicts(const std::set<std::string>& found) {
  const Fields none{std::to_string(resets_)};
  Fields lost = none;
  for (const auto& [name, known] : in_redis_) {
    if (found.contains(name)) continue;
    lost.insert(lost.end(), {name, counts_of(known.tally),
                             known.regression ? sums_of(*known.regression) : std::string()});
    if (lost.size() > 3 * kSumsAtOnce) SIGNALBOX_TRY_VOID(restore(std::exchange(lost, none)));
  }
  return lost.size() > 1 ? restore(std::move(lost)) : Result<void>();
}

Result<void> RedisLearning::restore(Fields lost) {
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
