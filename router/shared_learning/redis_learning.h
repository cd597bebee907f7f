#pragma once
// The learning of all routers, in Redis (or Valkey, 5 or newer): the model of each conversation,
// and the verdicts on models.
//
//   PREFIX c:KEY     a hash: a conversation, which expires
//   PREFIX verdicts  a hash: the counts of verdicts of each model of each decision
//   PREFIX sums      a hash: for the same names, the sums of their verdicts by features
//   PREFIX v:N:ID    there for a day if the verdict has been counted since the Nth reset; ID is the
//                    digest of its idempotency key
//   PREFIX resets    the number of times at which all verdicts were deleted
//   PREFIX changes   a stream of the changes, which every router follows. Sums are large, so the
//                    stream has only their names, and each router then reads them from the hash.
//
// A router decides by what it has in memory, so that no request waits for Redis. Its changes are
// written in the background, and it learns those of others from the stream, which it reads from its
// beginning when it connects. If Redis has lost data, each router writes again what is missing:
// first the verdicts that Redis had before, and also the conversations that nobody has deleted
// meanwhile. While Redis is away, each router goes on learning by itself.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "router/config/services.h"
#include "router/learning/situation.h"
#include "router/stores/redis.h"

namespace signalbox::shared_learning {

struct Options {
  stores::RedisServer server = {};
  std::string prefix = "signalbox:learning:";
  std::chrono::milliseconds limit{500};     // for each exchange
  size_t waiting_bytes = size_t{16} << 20;  // of changes that are not written yet
  std::chrono::milliseconds grace{1000};    // before lost data is written again
};

/// Thread-safe.
class SharedLearning {
 public:
  virtual ~SharedLearning() = default;
  struct Stats {
    bool works = true;  // Redis responds and accepts changes
    uint64_t waiting = 0, written = 0, refused = 0, dropped = 0;
  };
  virtual Stats stats() const = 0;
  /// Waits until everything is written, but not longer than `until`. Logs and returns the number of
  /// unwritten changes.
  virtual size_t drain(std::chrono::steady_clock::time_point until) = 0;
};

/// Connects in the background. `memory` outlives the result; its changes are shared from now on
/// until the result ends.
std::unique_ptr<SharedLearning> make_redis_learning(Options options, learning::Memory& memory);

/// As configured. Precondition: store.is_shared(). Errors: those of redis_server(), with the key in
/// the file.
Result<std::unique_ptr<SharedLearning>> open(const config::Learning::StateStore& store,
                                             learning::Memory& memory);

}  // namespace signalbox::shared_learning
