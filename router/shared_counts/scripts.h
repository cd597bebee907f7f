#pragma once
// The scripts that run in Redis. Each is one step that no other router sees half of, and may run
// twice with the same arguments.
//
// Keys, after the prefix:
//   epoch             a number that is there until the server forgets everything
//   totals:NAME       a hash: what each router has spent for a total
//   buckets:NAME      a hash: how much of a bucket is used, and when that was so
//   totals, buckets   sorted sets of these names by the time of their last change
//   batch:ROUTER      the number of the last uses of buckets that a router has reported
//   routers           a hash of the routers that share these counts

#include <string>
#include <string_view>

namespace signalbox::shared_counts {

/// KEYS: the prefix. ARGV: the ledger's name, the cursor, then for each total its name, the second
/// of its expiry and the amount of this router. Returns the epoch, the new cursor, and [name,
/// amount of the others, amount of this ledger] for each total that has changed since the cursor.
const std::string& totals_script();

/// KEYS: the prefix. ARGV: the router's name, the number of the report, the cursor, then for each
/// bucket its name, requests and tokens per unit, the unit's seconds, the requests and tokens used,
/// the known level of requests and tokens, and "1" if the server may have lost this level, else
/// "0". Returns the epoch, the new cursor, and [name, requests per unit, tokens per unit, unit,
/// used requests, used tokens] for each bucket that has changed.
const std::string& buckets_script();

/// KEYS: the prefix. ARGV: the router's name, the ledger's name, the digest of its limits, the time
/// of its start. Returns these of the other routers that have run this within three seconds.
std::string_view routers_script();

/// The most entries that a script returns at once.
inline constexpr size_t kEntriesMax = 512;

}  // namespace signalbox::shared_counts
