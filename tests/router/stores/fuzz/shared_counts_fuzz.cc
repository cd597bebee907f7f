// Feeds arbitrary bytes as replies of the scripts in Redis. Only finite amounts that are not
// negative may come out, and a limiter must go on with whatever it gets.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "router/limits/rate_limiter.h"
#include "router/shared_counts/readings.h"

namespace counts = signalbox::shared_counts;
using signalbox::stores::RedisValue;

namespace {

/// Texts end with CR. An empty one begins a list inside the outer one, which gets the texts after
/// it.
RedisValue reply_of(std::string_view bytes) {
  RedisValue out;
  out.type = RedisValue::Type::kList;
  RedisValue* into = &out;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\r'), bytes.size());
    RedisValue item;
    item.type = end == 0 ? RedisValue::Type::kList : RedisValue::Type::kText;
    item.text = bytes.substr(0, end);
    RedisValue& added = (end == 0 ? out : *into).items.emplace_back(std::move(item));
    if (end == 0) into = &added;
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return out;
}

void check(double amount) {
  SIGNALBOX_CHECK(std::isfinite(amount) && amount >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const RedisValue reply = reply_of(bytes);
  if (const auto totals = counts::read_totals(reply)) {
    for (const auto& each : totals->entries) {
      check(each.own);
      check(each.others);
      SIGNALBOX_CHECK(counts::total_of(counts::name_of(each.key)) == each.key);
    }
  }
  if (const auto buckets = counts::read_buckets(reply)) {
    for (const auto& each : buckets->entries) {
      check(each.requests);
      check(each.tokens);
    }
    signalbox::limits::RateLimiter limiter(8);
    limiter.share();
    const signalbox::limits::TimePoint now{std::chrono::hours(1)};
    limiter.set_levels(buckets->entries, now, now);
    limiter.report_all(now);
    for (const auto& use : limiter.take_uses(8, now)) check(use.level.requests);
    limiter.confirm_uses();
  }
  static_cast<void>(counts::read_routers(reply));
  return 0;
}
