#pragma once
// The lowest level of the store: contexts that several routers share. It may be unavailable, slow
// or full, and other routers change it. Its interface is therefore smaller than that of Level, and
// reports what other routers have changed.

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

/// A context as the level stores it.
struct Shared {
  Context context;
  uint64_t packed_bytes = 0;
};

/// A change that another router made.
struct SharedChange {
  Shared what;
  bool is_gone = false;  // The context was dropped. Otherwise it was stored, or if packed_bytes is
                         // 0, only its pin was set or cleared (context.pinned).
};

/// Thread-safe. Calls block, each within a time limit. Every call may return kUpstream if the
/// server is unavailable, too slow or returns an error; the level has then logged it.
class SharedLevel {
 public:
  virtual ~SharedLevel() = default;

  /// The name for metrics: "redis".
  virtual std::string_view name() const = 0;

  /// Stores the context for `ttl_s` (0: without limit; a pinned one does not expire either), even
  /// if it was dropped before, and notifies the other routers. Returns the packed bytes.
  virtual Result<uint64_t> put(const Context& context, std::string_view content, int64_t ttl_s) = 0;
  /// Errors: also kNotFound and kCorrupt.
  virtual Result<std::string> get(const Context& context) = 0;
  virtual Result<std::optional<Shared>> find(const Key& key) = 0;
  /// Keeps the context for another `ttl_s`. Returns false if it is not there.
  virtual Result<bool> touch(const Context& context, int64_t ttl_s) = 0;
  /// Returns the seconds since the last use, as far as `ttl_s` reveals them; nullopt if the context
  /// is not there.
  virtual Result<std::optional<int64_t>> idle(const Context& context, int64_t ttl_s) = 0;
  /// Removes the context for all routers and remembers the drop.
  virtual Result<void> drop(const Context& context, int64_t ttl_s) = 0;
  /// Sets or clears the pin, as in `context.pinned`, and notifies the other routers.
  virtual Result<void> pin(const Context& context, int64_t ttl_s) = 0;

  struct Survey {
    std::string cursor;  // where follow() continues
    std::vector<Shared> all;
  };
  virtual Result<Survey> survey() = 0;
  /// Returns the time at which each context was dropped, or nullopt if it was not; in the order of
  /// `keys`.
  virtual Result<std::vector<std::optional<int64_t>>> dropped(std::span<const Key> keys) = 0;
  /// Returns the changes of other routers since `cursor`, oldest first, and moves the cursor. It
  /// returns our own drops too, because older changes of other routers may be reported after them.
  /// Waits at most `wait` for a change.
  virtual Result<std::vector<SharedChange>> follow(std::string& cursor,
                                                   std::chrono::milliseconds wait) = 0;
};

}  // namespace signalbox::contexts
