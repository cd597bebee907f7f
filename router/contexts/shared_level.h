#pragma once
// The lowest level of the store: contexts that several routers share. It may be away, slow or full,
// and others change what is in it, so it is asked for less than a level of one's own, and tells
// what has happened.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/contexts/context.h"

namespace signalbox::contexts {

/// A context as the level has it.
struct Shared {
  Context context;
  uint64_t packed_bytes = 0;
};

/// What another router has done.
struct SharedChange {
  Shared what;
  bool is_gone = false;  // dropped; otherwise it is there, or was, pinned as it says: without
                         // packed bytes that is all it says
};

/// Thread-safe; calls block, each no longer than a limit. Errors of all: kUpstream when the server
/// is away, too slow or says no, which it has been told of in the log.
class SharedLevel {
 public:
  virtual ~SharedLevel() = default;

  /// For metrics: "redis".
  virtual std::string_view name() const = 0;

  /// Keeps it for `ttl_s` (0: for good) unless it is pinned, whatever was dropped under this key
  /// before, and tells the others. Returns the packed bytes.
  virtual Result<uint64_t> put(const Context& context, std::string_view content, int64_t ttl_s) = 0;
  /// Errors: kNotFound, kCorrupt, too.
  virtual Result<std::string> get(const Context& context) = 0;
  virtual Result<std::optional<Shared>> find(const Key& key) = 0;
  /// Keeps it for another `ttl_s`; false when it is not there.
  virtual Result<bool> touch(const Context& context, int64_t ttl_s) = 0;
  /// For how many seconds nobody has touched it, as far as `ttl_s` can tell; empty when it is not
  /// there.
  virtual Result<std::optional<int64_t>> idle(const Context& context, int64_t ttl_s) = 0;
  /// Gone for everybody, and known to have been dropped.
  virtual Result<void> drop(const Context& context, int64_t ttl_s) = 0;
  /// As `context.pinned` says; tells the others.
  virtual Result<void> pin(const Context& context, int64_t ttl_s) = 0;

  struct Survey {
    std::string cursor;  // for follow(): what has happened since
    std::vector<Shared> all;
  };
  virtual Result<Survey> survey() = 0;
  /// When each was dropped, empty for those that were not; in the order of `keys`.
  virtual Result<std::vector<std::optional<int64_t>>> dropped(std::span<const Key> keys) = 0;
  /// What others have done since `cursor`, oldest first, and what was dropped here, since what
  /// others did before may be told after it; moves the cursor. Waits for something, at most `wait`.
  virtual Result<std::vector<SharedChange>> follow(std::string& cursor,
                                                   std::chrono::milliseconds wait) = 0;
};

}  // namespace signalbox::contexts
