// The scripts compare and write in one step. So of two changes at the same time, one fails and is
// made again. Scripts must be repeatable, because a command whose connection was closed is sent
// once more.

#include "router/shared_keys/redis_keys.h"

#include <utility>
#include <vector>

namespace signalbox::shared_keys {
namespace {

// KEYS: the prefix.
constexpr std::string_view kBegin = R"(
local set, restored = KEYS[1] .. 'set', KEYS[1] .. 'restored'
local at = redis.call('HMGET', set, 'epoch', 'version', 'digest')
local epoch, version, digest = at[1] or '', at[2] or '0', at[3] or ''
local function is(i) return epoch == ARGV[i] and version == ARGV[i + 1] and digest == ARGV[i + 2] end
local function run() return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') end
local function put(i)
  redis.call('HSET', set, 'epoch', ARGV[i], 'version', ARGV[i + 1], 'digest', ARGV[i + 2], 'text', ARGV[i + 3], 'run', run())
end
local function wait(ms) redis.call('SET', restored, '1', 'PX', ms) end
)";

// ARGV: the known epoch, version and digest.
constexpr std::string_view kRead = R"(
if is(1) then return {epoch, version, digest} end
return {epoch, version, digest, redis.call('HGET', set, 'text') or ''}
)";

// ARGV: the expected epoch, version and digest, those of the next set with its text, and how long
// the set is not changed after another server has taken over (ms). A replica that took over, or the
// same server after a restart, may have an earlier set than the routers know.
constexpr std::string_view kWrite = R"(
if is(4) then return 'done' end
if not is(1) then return 'changed' end
if redis.call('EXISTS', restored) == 1 then return 'wait' end
if epoch ~= '' and redis.call('HGET', set, 'run') ~= run() then
  redis.call('HSET', set, 'run', run())
  wait(ARGV[8])
  return 'wait'
end
put(4)
return 'done'
)";

// ARGV: epoch, version, digest and text, and how long the set is not changed (ms).
constexpr std::string_view kRestore = R"(
if epoch ~= '' and (epoch ~= ARGV[1] or (tonumber(version) or 0) >= tonumber(ARGV[2])) then return 'there' end
put(1)
wait(ARGV[5])
return 'restored'
)";

std::string script_of(std::string_view body) {
  return std::string(kBegin).append(body);
}

class RedisKeys final : public KeyServer {
 public:
  explicit RedisKeys(RedisOptions options)
      : options_(std::move(options)), redis_(options_.server) {}

  const std::string& name() const override { return redis_.name(); }

  Result<Found> read(const Stamp& known) override {
    const std::string version = std::to_string(known.version);
    SIGNALBOX_TRY(stores::RedisValue reply, run(read_, {known.epoch, version, known.digest}));
    std::vector<std::string> parts;  // empty if the reply has another form
    for (stores::RedisValue& item : reply.items) parts.push_back(std::move(item.text));
    auto out = read_set(std::move(parts), known);
    if (!out) return fail_in(name(), std::move(out).error());
    return out;
  }

  Result<Written> write(const Stamp& expected, const Stamp& next,
                        const std::string& text) override {
    const std::string was = std::to_string(expected.version), is = std::to_string(next.version);
    SIGNALBOX_TRY(const stores::RedisValue reply,
                  run(write_, {expected.epoch, was, expected.digest, next.epoch, is, next.digest,
                               text, grace_}));
    if (reply.text == "done") return Written::kDone;
    return reply.text == "wait" ? Written::kWait : Written::kChanged;
  }

  Result<bool> restore(const Stamp& stamp, const std::string& text) override {
    const std::string version = std::to_string(stamp.version);
    SIGNALBOX_TRY(const stores::RedisValue reply,
                  run(restore_, {stamp.epoch, version, stamp.digest, text, grace_}));
    return reply.text == "restored";
  }

 private:
  Result<stores::RedisValue> run(const std::string& script,
                                 std::initializer_list<std::string_view> words) {
    stores::Redis::Command command{"EVAL", script, "1", options_.prefix};
    command.insert(command.end(), words.begin(), words.end());
    return redis_.run(command, options_.limit);
  }

  const RedisOptions options_;
  const std::string grace_ = std::to_string(options_.grace.count());
  const std::string read_ = script_of(kRead), write_ = script_of(kWrite),
                    restore_ = script_of(kRestore);
  stores::Redis redis_;
};

}  // namespace

std::unique_ptr<KeyServer> make_redis_keys(RedisOptions options) {
  return std::make_unique<RedisKeys>(std::move(options));
}

}  // namespace signalbox::shared_keys
