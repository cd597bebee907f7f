// A full server refuses a script at its first write if that write needs memory, and accepts all
// later writes. So a memory that has no room is refused before anything is changed, and a deletion,
// which begins with DEL, works on a full server. Moments are the server's time in microseconds and
// always grow, even after the server has lost its data. The same is true of the versions of
// indices, which change with each write.

#include "router/shared_memories/scripts.h"

#include <string>

#include "router/stores/deletions.h"

namespace signalbox::shared_memories {
namespace {

/// A deleted id is remembered for a day, which is longer than a change waits in a router.
constexpr std::string_view kCommon = R"(
local prefix, owner = KEYS[1], KEYS[2]
local index, day = prefix .. 'u:' .. owner, 86400000
local function announce(id, moment)
  redis.call('XADD', prefix .. 'deleted', 'MAXLEN', '~', {}, '*', 'owner', owner, 'id', id, 'moment', moment)
  redis.call('EXPIRE', prefix .. 'deleted', 5184000)
end
local function remove(id)
  redis.call('DEL', prefix .. 'm:' .. id)
  local had = redis.call('HDEL', index, id)
  redis.call('SET', prefix .. 'd:' .. id, '1', 'PX', day)
  announce(id, '0')
  return had
end
local function touch()
  if redis.call('HLEN', index) == redis.call('HEXISTS', index, 'v') then
    redis.call('DEL', index)
    return
  end
  local time, before = redis.call('TIME'), tonumber(redis.call('HGET', index, 'v') or '0') or 0
  redis.call('HSET', index, 'v', string.format('%.0f', math.max(before + 1, time[1] * 1000000 + time[2])))
end
local function fields(value)
  local created, used, uses, digest, moment = string.match(value, '^(%d+) (%d+) (%d+) (%x+) (%d+)$')
  return tonumber(created), tonumber(used), tonumber(uses), digest, tonumber(moment)
end
local function keep(key, lifetime)
  if redis.call('PTTL', key) < lifetime then redis.call('PEXPIRE', key, string.format('%.0f', lifetime)) end
end
)";

// Removes one memory more than the limit requires, to make room for the new one.
constexpr std::string_view kAdd = R"(
local id, record, entry, moment, digest, lifetime, now = unpack(ARGV, 1, 7)
local strength, weakness_max, most = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[11])
local forgotten = redis.call('GET', prefix .. 'f:' .. owner)
if forgotten and tonumber(forgotten) > tonumber(moment) then return 0 end
if redis.call('EXISTS', prefix .. 'd:' .. id) == 1 then return 0 end
redis.call('SET', prefix .. 'm:' .. id, record, 'PX', lifetime)
redis.call('HSET', index, id, entry)
keep(index, tonumber(lifetime))
local all, others = redis.call('HGETALL', index), {}
for i = 1, #all, 2 do
  if all[i] ~= id and all[i] ~= 'v' then
    local created, used, uses, same = fields(all[i + 1])
    local weakness = created and (tonumber(now) - used) / (strength + uses * day)
    if not created or same == digest or weakness > weakness_max then
      remove(all[i])
    else
      others[#others + 1] = {weakness, all[i]}
    end
  end
end
table.sort(others, function(a, b) return a[1] > b[1] end)
for i = 1, #others - most + 1 do remove(others[i][2]) end
touch()
return 1
)";

constexpr std::string_view kUse = R"(
local now, strength, weakness_max, lifetime_max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
for i = 5, #ARGV do
  local value = redis.call('HGET', index, ARGV[i])
  local created, used, uses, digest, moment
  if value then created, used, uses, digest, moment = fields(value) end
  if created then
    redis.call('HSET', index, ARGV[i], string.format('%.0f %.0f %.0f %s %.0f', created, math.max(used, now), math.min(uses + 1, 4294967295), digest, moment))
    local lifetime = math.min(lifetime_max, (strength + (uses + 1) * day) * weakness_max)
    keep(prefix .. 'm:' .. ARGV[i], lifetime)
    keep(index, lifetime)
  end
end
touch()
return 1
)";

constexpr std::string_view kForget = R"(
local id, again = ARGV[1], ARGV[2] == '1'
if not again and redis.call('HEXISTS', index, id) == 0 then return 0 end
local had = remove(id)
touch()
return had
)";

constexpr std::string_view kForgetAll = R"(
local moment = tonumber(ARGV[1])
local time = redis.call('TIME')
local clock = tonumber(redis.call('GET', prefix .. 'clock') or '0') or 0
if moment == 0 then moment = math.max(clock + 1, time[1] * 1000000 + time[2]) end
local all, count = redis.call('HGETALL', index), 0
local before = tonumber(redis.call('GET', prefix .. 'f:' .. owner) or '0') or 0
redis.call('DEL', prefix .. 'f:' .. owner)
for i = 1, #all, 2 do
  local created, used, uses, digest, began = fields(all[i + 1])
  if all[i] ~= 'v' and (not created or began < moment) then
    redis.call('DEL', prefix .. 'm:' .. all[i])
    redis.call('HDEL', index, all[i])
    count = count + 1
  end
end
local written = string.format('%.0f', moment)
if clock < moment then redis.call('SET', prefix .. 'clock', written) end
redis.call('SET', prefix .. 'f:' .. owner, string.format('%.0f', math.max(before, moment)), 'PX', day)
announce('', written)
touch()
return {count, written}
)";

std::string script_of(std::string_view body) {
  std::string common(kCommon);
  const std::string_view place = "{}";
  common.replace(common.find(place), place.size(), std::to_string(stores::Deletions::kMax));
  return common + std::string(body);
}

}  // namespace

std::string_view add_script() {
  static const std::string script = script_of(kAdd);
  return script;
}

std::string_view use_script() {
  static const std::string script = script_of(kUse);
  return script;
}

std::string_view forget_script() {
  static const std::string script = script_of(kForget);
  return script;
}

std::string_view forget_all_script() {
  static const std::string script = script_of(kForgetAll);
  return script;
}

}  // namespace signalbox::shared_memories
