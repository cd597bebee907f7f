// A full server refuses a script at its first write if that write needs memory, and accepts all
// later writes. So a record that has no room is refused before anything is changed, and a list or a
// deletion, which begins with DEL, works on a full server. All moments are the server's time in
// milliseconds, so that the clocks of routers do not matter.

#include "router/shared_replay/scripts.h"

#include <fmt/format.h>

#include <string>

#include "router/observe/replay.h"
#include "router/shared_replay/record.h"
#include "router/shared_replay/replay_server.h"
#include "router/stores/deletions.h"

namespace signalbox::shared_replay {
namespace {

constexpr std::string_view kCommon = R"(
local prefix = KEYS[1]
local all, chosen = prefix .. 'all', prefix .. 'chosen'
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function text(number) return string.format('%.0f', number) end
local function index(name) return prefix .. 'i:' .. name end
local function parts(id) return prefix .. 'r:' .. id, prefix .. 'b:' .. id, prefix .. 'o:' .. id, prefix .. 's:' .. id end
local sizes, bytes, ends = prefix .. 'sizes', prefix .. 'bytes', prefix .. 'ends'
local function add_size(name, size)
  redis.call('HINCRBY', sizes, name, text(size))
  redis.call('INCRBY', bytes, text(size))
end
local function drop_size(name)
  local size = redis.call('HGET', sizes, name)
  if not size then return end
  redis.call('HDEL', sizes, name)
  redis.call('DECRBY', bytes, size)
end
local function drop_texts_size(id)
  drop_size('b:' .. id)
  redis.call('ZREM', ends, id)
end
local function drop(id)
  local record, bodies, outcomes, shadows = parts(id)
  local names = redis.call('HGET', record, 'i') or ''
  redis.call('DEL', record, bodies, outcomes, shadows)
  for name in string.gmatch(names, '%S+') do redis.call('ZREM', index(name), id) end
  drop_size(id)
  drop_texts_size(id)
  return redis.call('ZREM', all, id)
end
local function choose(first)
  redis.call('DEL', chosen)
  if #ARGV < first then return all end
  if #ARGV == first then return index(ARGV[first]) end
  local words = {'ZINTERSTORE', chosen, #ARGV - first + 1}
  for i = first, #ARGV do words[#words + 1] = index(ARGV[i]) end
  words[#words + 1] = 'AGGREGATE'
  words[#words + 1] = 'MAX'
  redis.call(unpack(words))
  return chosen
end
local function expire_with(record, key)
  local left = redis.call('PTTL', record)
  if left > 0 then redis.call('PEXPIRE', key, left) end
end
)";

// The bytes that Redis 7.0 needs for the keys of a record and four indices, beside their content.
constexpr int kRecordBytes = 1100;

constexpr std::string_view kAdd = R"(
local id, json, names, scopes = unpack(ARGV, 1, 4)
local age, ttl, most, body_ttl = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local bytes_most = tonumber(ARGV[9])
local at = now() - age
for scope in string.gmatch(scopes, '%S+') do
  local before = tonumber(redis.call('GET', prefix .. 'f:' .. scope) or '0') or 0
  if before > at then return 0 end
end
local record, bodies = parts(id)
local texts_end = ''
if body_ttl > 0 and (ttl == 0 or body_ttl < ttl) then texts_end = text(at + body_ttl) end
redis.call('HSET', record, 'j', json, 'i', names, 'e', texts_end)
if redis.call('EXISTS', all) == 0 then redis.call('DEL', sizes, bytes, ends) end
drop_size(id)
drop_texts_size(id)
add_size(id, record_bytes + #id + #json + #names)
if ttl > 0 then redis.call('PEXPIREAT', record, text(at + ttl)) end
if #ARGV > 9 then
  redis.call('HSET', record, 'b', '1')
  redis.call('HSET', bodies, unpack(ARGV, 10))
  local size = 0
  for i = 10, #ARGV do size = size + #ARGV[i] end
  add_size('b:' .. id, size)
  if texts_end ~= '' then
    redis.call('PEXPIREAT', bodies, texts_end)
    redis.call('ZADD', ends, texts_end, id)
  else
    expire_with(record, bodies)
  end
end
local function keep(key)
  if ttl == 0 then
    redis.call('PERSIST', key)
  elseif redis.call('PTTL', key) < ttl then
    redis.call('PEXPIRE', key, text(ttl))
  end
end
redis.call('ZADD', all, text(at), id)
for _, key in ipairs({all, sizes, bytes, ends}) do keep(key) end
for name in string.gmatch(names, '%S+') do
  redis.call('ZADD', index(name), text(at), id)
  if ttl > 0 then redis.call('ZREMRANGEBYSCORE', index(name), '-inf', text(at - ttl)) end
  keep(index(name))
end
if ttl > 0 then
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', all, '-inf', text(at - ttl), 'LIMIT', 0, 100)) do drop(old) end
end
for _, old in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', text(now()), 'LIMIT', 0, 100)) do drop_texts_size(old) end
for _ = 1, 100 do
  if bytes_most == 0 or tonumber(redis.call('GET', bytes) or '0') <= bytes_most then break end
  local old = redis.call('ZRANGE', all, 0, 0)[1]
  if not old then break end
  drop(old)
end
local over = redis.call('ZCARD', all) - most
if over > 0 then
  for _, old in ipairs(redis.call('ZRANGE', all, 0, math.min(over, 100) - 1)) do drop(old) end
end
return 1
)";

constexpr std::string_view kList = R"(
local key, from = choose(4), '-inf'
if tonumber(ARGV[1]) > 0 then from = '(' .. text(now() - ARGV[1]) end
local out = {redis.call('ZCOUNT', key, from, '+inf')}
for _, id in ipairs(redis.call('ZREVRANGEBYSCORE', key, '+inf', from, 'LIMIT', ARGV[2], ARGV[3])) do
  local record = parts(id)
  local size = redis.call('HSTRLEN', record, 'j')
  if size > 0 and size <= bytes_max then out[#out + 1] = redis.call('HGET', record, 'j') end
end
redis.call('DEL', chosen)
return out
)";

constexpr std::string_view kFind = R"(
local record, bodies, outcomes, shadows = parts(ARGV[1])
if redis.call('HSTRLEN', record, 'j') > bytes_max then return false end
local has = redis.call('HMGET', record, 'j', 'b')
if not has[1] then return false end
local function body(name) return redis.call('HSTRLEN', bodies, name) <= bytes_max and redis.call('HGET', bodies, name) end
local list, texts = redis.call('LRANGE', shadows, 0, shadows_max - 1), {}
for i = 1, #list do texts[i] = body('s' .. (i - 1)) end
return {has[1], has[2], {body('request'), body('request_cut'), body('response'), body('response_cut')},
  redis.call('LRANGE', outcomes, 0, outcomes_max - 1), list, texts}
)";

// A record that is still on its way to Redis is refused for a minute. None is on its way longer.
constexpr std::string_view kRemove = R"(
local key, at = choose(5), tonumber(ARGV[1])
if at == 0 then at = now() end
local forgets = prefix .. 'f:' .. ARGV[3]
local before = tonumber(redis.call('GET', forgets) or '0') or 0
redis.call('SET', forgets, text(math.max(before, at)), 'PX', on_its_way)
if ARGV[2] == '1' then
  redis.call('XADD', prefix .. 'deleted', 'MAXLEN', '~', deletions_max, '*', 'name', text(at) .. ' ' .. ARGV[3])
  redis.call('EXPIRE', prefix .. 'deleted', deletions_last_s)
end
local ids, count = redis.call('ZRANGEBYSCORE', key, '-inf', text(at), 'LIMIT', 0, ARGV[4]), 0
for _, id in ipairs(ids) do
  count = count + drop(id)
  for i = 5, #ARGV do redis.call('ZREM', index(ARGV[i]), id) end
end
redis.call('DEL', chosen)
return {count, text(at), #ids}
)";

constexpr std::string_view kOutcome = R"(
local record, bodies, outcomes = parts(ARGV[1])
if redis.call('EXISTS', record) == 0 or redis.call('LLEN', outcomes) >= outcomes_max then return 0 end
redis.call('RPUSH', outcomes, ARGV[2])
add_size(ARGV[1], #ARGV[2])
expire_with(record, outcomes)
return 1
)";

constexpr std::string_view kShadow = R"(
local record, bodies, outcomes, shadows = parts(ARGV[1])
if redis.call('EXISTS', record) == 0 then return 0 end
local count = redis.call('RPUSH', shadows, ARGV[2])
redis.call('LTRIM', shadows, 0, shadows_max - 1)
expire_with(record, shadows)
if count > shadows_max then return 1 end
add_size(ARGV[1], #ARGV[2])
if ARGV[3] == '' then return 1 end
redis.call('HSET', record, 'b', '1')
local texts_end = tonumber(redis.call('HGET', record, 'e') or '')
if texts_end and now() >= texts_end then return 1 end
redis.call('HSET', bodies, 's' .. (count - 1), ARGV[3])
add_size('b:' .. ARGV[1], #ARGV[3])
if texts_end then
  redis.call('PEXPIREAT', bodies, text(texts_end))
  redis.call('ZADD', ends, text(texts_end), ARGV[1])
else
  expire_with(record, bodies)
end
return 1
)";

std::string script_of(std::string_view body) {
  return fmt::format(
             "local bytes_max, shadows_max, outcomes_max, deletions_max, record_bytes, on_its_way, "
             "deletions_last_s = {}, {}, {}, {}, {}, {}, {}",
             kTextBytesMax, kShadowsMax, observe::Replay::kOutcomesMax, stores::Deletions::kMax,
             kRecordBytes, kArrivesWithin.count(),
             std::chrono::duration_cast<std::chrono::seconds>(kDeletionsLast).count()) +
         std::string(kCommon) + std::string(body);
}

}  // namespace

std::string_view add_script() {
  static const std::string script = script_of(kAdd);
  return script;
}

std::string_view list_script() {
  static const std::string script = script_of(kList);
  return script;
}

std::string_view find_script() {
  static const std::string script = script_of(kFind);
  return script;
}

std::string_view remove_script() {
  static const std::string script = script_of(kRemove);
  return script;
}

std::string_view outcome_script() {
  static const std::string script = script_of(kOutcome);
  return script;
}

std::string_view shadow_script() {
  static const std::string script = script_of(kShadow);
  return script;
}

}  // namespace signalbox::shared_replay
