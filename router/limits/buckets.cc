// A full bucket carries no more information than a new one, so full buckets are dropped when there
// are too many.

#include "router/limits/buckets.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "router/config/access.h"

namespace signalbox::limits {
namespace {

using config::RateLimit;
using Rule = RateLimit::Rule;

constexpr size_t kUserBytesMax = 64;
constexpr size_t kUsualNameBytes = 160;

bool applies(const Rule& rule, const Requester& requester) {
  const RateLimit::Match& match = rule.match;
  return (match.user.empty() || match.user == requester.user) &&
         (match.model.empty() || match.model == requester.model) &&
         (match.group.empty() || config::is_member(requester.groups, match.group));
}

template <typename Visit>
void each_rule(const RateLimit& limit, const Requester& requester, Visit&& visit) {
  for (const RateLimit::Provider& provider : limit.providers) {
    if (provider.type != "local-limiter") continue;
    for (const Rule& rule : provider.rules) {
      if (applies(rule, requester)) visit(rule);
    }
  }
}

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// Returns the time until `missing` more have arrived at a rate of `per_unit` per `unit`.
std::chrono::seconds wait_for(double missing, uint64_t per_unit, std::chrono::seconds unit) {
  const double rate = static_cast<double>(per_unit) / seconds(unit);
  return std::chrono::seconds(std::max<int64_t>(1, std::llround(std::ceil(missing / rate))));
}

std::string_view name_of_unit(std::chrono::seconds unit) {
  if (unit == std::chrono::seconds(1)) return "a second";
  if (unit == std::chrono::minutes(1)) return "a minute";
  return unit == std::chrono::hours(1) ? "an hour" : "a day";
}

RateRefusal refusal(const Rule& rule, uint64_t per_unit, std::string_view what,
                    std::chrono::seconds retry) {
  const std::string of = rule.name.empty() ? "" : fmt::format(" ({})", rule.name);
  return {fmt::format("the limit of {} {} {} is reached{}; try again in {} s", per_unit, what,
                      name_of_unit(rule.unit), of, retry.count()),
          retry};
}

}  // namespace

void Buckets::Bucket::fill(TimePoint now) {
  const double units = std::max(0.0, seconds(now - at)) / seconds(rule.unit);
  const auto filled = [units](double left, uint64_t per_unit) {
    const double all = static_cast<double>(per_unit);
    return std::min(all, left + units * all);
  };
  requests = filled(requests, rule.requests_per_unit);
  tokens = filled(tokens, rule.tokens_per_unit);
  at = std::max(at, now);
}

bool Buckets::Bucket::is_full() const {
  return requests >= static_cast<double>(rule.requests_per_unit) &&
         tokens >= static_cast<double>(rule.tokens_per_unit);
}

void Buckets::drop_full(TimePoint now) {
  if (now - dropped_ < std::chrono::seconds(1)) return;
  dropped_ = now;
  for (auto it = buckets_.begin(); it != buckets_.end();) {
    it->second.fill(now);
    it = it->second.is_full() ? buckets_.erase(it) : std::next(it);
  }
  std::erase_if(changed_, [this](const std::string& name) { return !buckets_.contains(name); });
}

// Returns null if there are too many buckets.
Buckets::Entry* Buckets::find(const Rule& rule, const std::string& user, TimePoint now) {
  // The name contains the whole rule, because another configuration may have a different rule with
  // the same name.
  std::string name;
  name.reserve(kUsualNameBytes);
  for (const std::string* each :
       {&rule.name, &rule.match.user, &rule.match.group, &rule.match.model})
    name.append(*each).push_back('\n');
  name.append(fmt::format_int(rule.requests_per_unit).c_str()).push_back(' ');
  name.append(fmt::format_int(rule.tokens_per_unit).c_str()).push_back(' ');
  name.append(fmt::format_int(rule.unit.count()).c_str()).push_back('\n');
  name.append(user.size() > kUserBytesMax ? sha256_hex(user) : user);
  auto found = buckets_.find(name);
  if (found == buckets_.end()) {
    if (buckets_.size() >= buckets_max_) return nullptr;
    Bucket full{rule, static_cast<double>(rule.requests_per_unit),
                static_cast<double>(rule.tokens_per_unit), now};
    found = buckets_.emplace(std::move(name), std::move(full)).first;
  }
  found->second.fill(now);
  return &*found;
}

void Buckets::note(Entry& entry) {
  if (std::exchange(entry.second.is_noted, true)) return;
  changed_.push_back(entry.first);
}

void Buckets::use(Entry& entry, Amounts amounts) {
  Bucket& bucket = entry.second;
  bucket.requests -= amounts.requests;
  bucket.tokens -= amounts.tokens;
  if (!shares_) return;
  bucket.unsent.requests += amounts.requests;
  bucket.unsent.tokens += amounts.tokens;
  note(entry);
}

std::optional<RateRefusal> Buckets::admit(const RateLimit& limit, const Requester& requester,
                                          TimePoint now) {
  std::optional<RateRefusal> out;
  std::vector<Entry*> counted;
  if (buckets_.size() >= buckets_max_) drop_full(now);
  each_rule(limit, requester, [&](const Rule& rule) {
    if (out || rule.match.model.empty() != requester.model.empty()) return;
    Entry* const entry = find(rule, requester.user, now);
    const Bucket* const bucket = entry == nullptr ? nullptr : &entry->second;
    if (bucket == nullptr) {
      if (!limit.fail_open) out = RateRefusal{"the rate limiter has too many users to count"};
    } else if (rule.requests_per_unit != 0 && bucket->requests < 1) {
      out = refusal(rule, rule.requests_per_unit, "requests",
                    wait_for(1 - bucket->requests, rule.requests_per_unit, rule.unit));
    } else if (rule.tokens_per_unit != 0 && bucket->tokens <= 0) {
      out = refusal(rule, rule.tokens_per_unit, "tokens",
                    wait_for(1 - bucket->tokens, rule.tokens_per_unit, rule.unit));
    } else {
      counted.push_back(entry);
    }
  });
  if (out) return out;
  for (Entry* entry : counted) {
    if (entry->second.rule.requests_per_unit != 0) use(*entry, {.requests = 1});
  }
  return std::nullopt;
}

void Buckets::charge(const RateLimit& limit, const Requester& requester, uint64_t tokens,
                     TimePoint now) {
  each_rule(limit, requester, [&](const Rule& rule) {
    if (rule.tokens_per_unit == 0) return;
    if (Entry* const entry = find(rule, requester.user, now))
      use(*entry, {.tokens = static_cast<double>(tokens)});
  });
}

void Buckets::share() {
  shares_ = true;
}

std::vector<BucketUse> Buckets::take_uses(size_t max, TimePoint now) {
  if (sending_.empty()) {
    const auto end = changed_.begin() + static_cast<ptrdiff_t>(std::min(max, changed_.size()));
    sending_.assign(changed_.begin(), end);
    changed_.erase(changed_.begin(), end);
    for (const std::string& name : sending_) {
      const auto found = buckets_.find(name);
      if (found == buckets_.end()) continue;
      Bucket& bucket = found->second;
      bucket.sent = std::exchange(bucket.unsent, {});
      bucket.is_noted = false;
    }
  }
  std::vector<BucketUse> out;
  for (const std::string& name : sending_) {
    const auto found = buckets_.find(name);
    if (found == buckets_.end()) continue;
    Bucket& bucket = found->second;
    bucket.fill(now);
    const Rule& rule = bucket.rule;
    // A use of long ago has been refilled.
    const auto used = [](uint64_t per_unit, double left, double unsent) {
      return std::max(0.0, static_cast<double>(per_unit) - left - unsent);
    };
    BucketUse& use = out.emplace_back();
    use.level = {.name = name,
                 .requests_per_unit = rule.requests_per_unit,
                 .tokens_per_unit = rule.tokens_per_unit,
                 .unit = rule.unit,
                 .requests = used(rule.requests_per_unit, bucket.requests, bucket.unsent.requests),
                 .tokens = used(rule.tokens_per_unit, bucket.tokens, bucket.unsent.tokens)};
    use.may_be_lost = bucket.may_be_lost;
    use.requests = std::min(bucket.sent.requests, use.level.requests);
    use.tokens = std::min(bucket.sent.tokens, use.level.tokens);
  }
  return out;
}

void Buckets::confirm_uses() {
  for (const std::string& name : sending_) {
    const auto found = buckets_.find(name);
    if (found == buckets_.end()) continue;
    found->second.sent = {};
    found->second.may_be_lost = false;
  }
  sending_.clear();
}

void Buckets::set_levels(std::span<const BucketLevel> levels, TimePoint at, TimePoint now) {
  for (const BucketLevel& level : levels) {
    auto found = buckets_.find(level.name);
    if (found == buckets_.end()) {
      if (buckets_.size() >= buckets_max_) drop_full(now);
      if (buckets_.size() >= buckets_max_) continue;
      Rule rule;
      rule.requests_per_unit = level.requests_per_unit;
      rule.tokens_per_unit = level.tokens_per_unit;
      rule.unit = level.unit;
      found = buckets_.emplace(level.name, Bucket{std::move(rule), 0, 0, at}).first;
    }
    Bucket& bucket = found->second;
    const auto left = [](uint64_t per_unit, double used, double unsent, double sent) {
      return per_unit == 0 ? 0 : static_cast<double>(per_unit) - used - unsent - sent;
    };
    const Amounts before{bucket.requests, bucket.tokens};
    bucket.requests = left(bucket.rule.requests_per_unit, level.requests, bucket.unsent.requests,
                           bucket.sent.requests);
    bucket.tokens =
        left(bucket.rule.tokens_per_unit, level.tokens, bucket.unsent.tokens, bucket.sent.tokens);
    if (bucket.may_be_lost) {
      bucket.requests = std::min(bucket.requests, before.requests);
      bucket.tokens = std::min(bucket.tokens, before.tokens);
    }
    bucket.at = at;
    bucket.fill(now);
  }
}

void Buckets::report_all(TimePoint now) {
  for (Entry& entry : buckets_) {
    entry.second.fill(now);
    if (entry.second.is_full()) continue;
    entry.second.may_be_lost = true;
    note(entry);
  }
}

size_t Buckets::unconfirmed() const {
  return changed_.size() + sending_.size();
}

}  // namespace signalbox::limits
