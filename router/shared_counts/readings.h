#pragma once
// The replies of the scripts, and the names of totals in Redis. The bytes come from a server that
// other programs may write to, so everything is checked.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/limits/bucket_level.h"
#include "router/spending/totals.h"
#include "router/stores/redis.h"

namespace signalbox::shared_counts {

/// The reply of a script. Entries that cannot be read are left out.
template <class Entry>
struct Reading {
  std::string epoch, cursor;
  std::vector<Entry> entries;
  size_t size = 0;  // the number of entries, unreadable ones included
};

/// Another router that shares the counts.
struct Peer {
  std::string name, ledger, digest;
  int64_t started = 0;  // microseconds since 1970
};

/// Errors: kCorrupt for a reply that no script returns.
Result<Reading<spending::SharedTotal>> read_totals(const stores::RedisValue& reply);
Result<Reading<limits::BucketLevel>> read_buckets(const stores::RedisValue& reply);
Result<std::vector<Peer>> read_routers(const stores::RedisValue& reply);

/// The name of a total, and the total of a name; nullopt if it names none.
std::string name_of(const spending::TotalKey& key);
std::optional<spending::TotalKey> total_of(std::string_view name);

}  // namespace signalbox::shared_counts
