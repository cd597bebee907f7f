// Times are the server's, so the clocks of the routers may differ. The first write of a script
// needs memory, so a full server refuses the whole script and not a part of it. Numbers are written
// with 17 digits, because Lua's own form has 14.

#include "router/shared_counts/scripts.h"

#include <fmt/format.h>

namespace signalbox::shared_counts {
namespace {

// The score of a change is its time in microseconds. It always exceeds the score of the change
// before.
constexpr std::string_view kBegin = R"(
local prefix = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local epoch = redis.call('GET', prefix .. 'epoch')
if not epoch then
  epoch = string.format('%.0f', now)
  redis.call('SET', prefix .. 'epoch', epoch)
end
local last = redis.call('ZREVRANGE', prefix .. kind, 0, 0, 'WITHSCORES')[2]
local score = math.max(now, last and last + 1 or 0)
local function changed(name)
  redis.call('ZADD', prefix .. kind, string.format('%.0f', score), name)
  score = score + 1
end
)";

constexpr std::string_view kEnd = R"(
local out = {{epoch, cursor}}
local names = redis.call('ZRANGEBYSCORE', prefix .. kind, '(' .. cursor, '+inf', 'WITHSCORES', 'LIMIT', 0, {})
for i = 1, #names, 2 do
  local entry = read(names[i])
  if entry then
    out[#out + 1] = entry
  else
    redis.call('ZREM', prefix .. kind, names[i])
  end
  out[2] = names[i + 1]
end
return out
)";

constexpr std::string_view kTotals = R"(
local me, cursor = ARGV[1], ARGV[2]
for i = 3, #ARGV, 3 do
  local key = prefix .. 'totals:' .. ARGV[i]
  if tonumber(ARGV[i + 2]) > (tonumber(redis.call('HGET', key, me) or '') or -1) then
    redis.call('HSET', key, me, ARGV[i + 2])
    redis.call('EXPIREAT', key, ARGV[i + 1])
    changed(ARGV[i])
  end
end
local function read(name)
  local all = redis.call('HGETALL', prefix .. 'totals:' .. name)
  local others, own = 0, 0
  for i = 1, #all, 2 do
    local amount = tonumber(all[i + 1]) or 0
    if all[i] == me then own = amount else others = others + amount end
  end
  return #all > 0 and {name, string.format('%.17g', others), string.format('%.17g', own)}
end
)";

// A missing bucket is full, unless the server has lost it or was restored from an older state. In
// these two cases the level that a router knows replaces it. An old batch may arrive after a newer
// one over another connection, so the number of a router's last batch is kept for longer than the
// longest unit.
constexpr std::string_view kBuckets = R"(
local me, batch, cursor = ARGV[1], ARGV[2], ARGV[3]
local function level(name)
  local of = redis.call('HMGET', prefix .. 'buckets:' .. name, 'at', 'requests', 'tokens', 'requests_per_unit', 'tokens_per_unit', 'unit')
  for i = 1, 6 do
    of[i] = tonumber(of[i] or '')
    if not of[i] then return nil end
  end
  local units = math.max(0, now - of[1]) / 1000000 / of[6]
  return {math.max(0, of[2] - units * of[4]), math.max(0, of[3] - units * of[5]), of[4], of[5], of[6]}
end
local batch_key = prefix .. 'batch:' .. me
if #ARGV > 3 and tonumber(batch) > (tonumber(redis.call('GET', batch_key) or '') or 0) then
  redis.call('SET', batch_key, batch, 'EX', 172800)
  for i = 4, #ARGV, 9 do
    local name, requests_per_unit, tokens_per_unit, unit = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
    local requests, tokens = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5])
    local now_used = level(name)
    local known_requests, known_tokens = tonumber(ARGV[i + 6]), tonumber(ARGV[i + 7])
    if not now_used then
      requests, tokens = known_requests, known_tokens
    else
      requests, tokens = now_used[1] + requests, now_used[2] + tokens
      if ARGV[i + 8] == '1' then
        requests, tokens = math.max(requests, known_requests), math.max(tokens, known_tokens)
      end
    end
    local units = 0
    if requests > 0 and tonumber(requests_per_unit) > 0 then units = requests / requests_per_unit end
    if tokens > 0 and tonumber(tokens_per_unit) > 0 then units = math.max(units, tokens / tokens_per_unit) end
    if units > 0 then
      local key = prefix .. 'buckets:' .. name
      redis.call('HMSET', key, 'at', string.format('%.0f', now), 'requests', string.format('%.17g', requests),
        'tokens', string.format('%.17g', tokens), 'requests_per_unit', requests_per_unit,
        'tokens_per_unit', tokens_per_unit, 'unit', unit)
      redis.call('EXPIRE', key, string.format('%.0f', math.ceil(math.min(units * unit, 2592000)) + 1))
      changed(name)
    end
  end
end
local function read(name)
  local used = level(name)
  return used and {name, string.format('%.0f', used[3]), string.format('%.0f', used[4]), string.format('%.0f', used[5]),
    string.format('%.17g', used[1]), string.format('%.17g', used[2])}
end
)";

// A name is forgotten when everything that it stands for has expired.
constexpr std::string_view kRouters = R"(
local prefix = KEYS[1]
local time = redis.call('TIME')
local key = prefix .. 'routers'
redis.call('HSET', key, ARGV[1], time[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
redis.call('EXPIRE', key, 3600)
redis.call('ZREMRANGEBYSCORE', prefix .. 'totals', '-inf', string.format('%.0f', (time[1] - 3000000) * 1000000))
redis.call('ZREMRANGEBYSCORE', prefix .. 'buckets', '-inf', string.format('%.0f', (time[1] - 2600000) * 1000000))
local all, out = redis.call('HGETALL', key), {}
for i = 1, #all, 2 do
  local at, ledger, digest, started = string.match(all[i + 1], '^(%d+) (%S*) (%S*) (%d+)$')
  if not at or time[1] - at > 60 then
    redis.call('HDEL', key, all[i])
  elseif all[i] ~= ARGV[1] and time[1] - at <= 3 then
    out[#out + 1] = {all[i], ledger, digest, started}
  end
end
return out
)";

std::string assemble(std::string_view kind, std::string_view middle) {
  return fmt::format("local kind = '{}'\n", kind) + std::string(kBegin) + std::string(middle) +
         fmt::format(kEnd, kEntriesMax);
}

}  // namespace

const std::string& totals_script() {
  static const std::string script = assemble("totals", kTotals);
  return script;
}

const std::string& buckets_script() {
  static const std::string script = assemble("buckets", kBuckets);
  return script;
}

std::string_view routers_script() {
  return kRouters;
}

}  // namespace signalbox::shared_counts
