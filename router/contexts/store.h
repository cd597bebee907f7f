#pragma once
// The contexts of all tenants on two levels: those in use in memory, the others packed in a level
// below. A third level, which several routers share, is optional. A context is reported as
// durable only once it is in a level that outlives the process. The store never evicts a
// context to make room for another one; a client without room is refused.
//
// With a shared level every router knows all contexts, so limits and lists cover all of them. While
// that level is unavailable, each router goes on with the contexts that it has. Afterwards it
// catches up: it sends the contexts that were stored in the meantime (`pending_`) and removes those
// that others have dropped.
//
// Tenant, id, size and age of every context stay in memory, about 600 bytes each.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/contexts/level.h"
#include "router/contexts/shared_level.h"

namespace signalbox::contexts {

struct Limits {
  uint64_t memory_bytes = 256 << 20;      // in memory, unpacked
  uint64_t bytes_max = 1 << 30;           // all contexts in all levels, unpacked
  uint64_t contexts_max = 1 << 18;        // all contexts
  uint64_t context_bytes_max = 16 << 20;  // one context
  uint64_t tenant_bytes_max = 256 << 20;  // all contexts of one tenant
  uint32_t tenant_contexts_max = 1000;    // contexts per tenant
  // Pinned by one tenant; all tenants together may pin half of memory_bytes
  uint64_t tenant_pinned_bytes = 32 << 20;
  int64_t idle_s = 600;           // an unused context leaves memory after this time
  int64_t ttl_s = 7 * 24 * 3600;  // and expires after this time; 0: never
  // With a shared level, this router's own lower level gives contexts up to it
  uint64_t local_bytes = 1 << 30;    // if it has more than this many packed bytes
  int64_t local_idle_s = 24 * 3600;  // or if a context was unused for this long; 0: never
};

/// The figures for /metrics. Counters run since the start.
struct Stats {
  uint64_t contexts = 0, bytes = 0;           // all, unpacked
  uint64_t in_memory = 0, memory_bytes = 0;   // in memory, unpacked
  uint64_t pinned = 0, pinned_bytes = 0;      // pinned, unpacked
  uint64_t below = 0, below_bytes = 0;        // in the level below, packed
  uint64_t shared = 0, shared_bytes = 0;      // in the shared level and known here, packed
  uint64_t puts = 0, refused = 0, drops = 0;  // by clients
  uint64_t memory_hits = 0, below_hits = 0, shared_hits = 0, misses = 0;
  uint64_t shared_failures = 0;  // failed calls of the shared level
  uint64_t owed = 0;             // contexts that still have to be put into the shared level
  uint64_t page_outs = 0, expired = 0, damaged = 0;
};

/// Thread-safe. Calls may write, read, pack or unpack a context, and may wait for a disk or, within
/// its time limits, for the shared level. Do not call it from an event loop. `now` is in seconds
/// since 1970.
class Store {
 public:
  using Content = std::shared_ptr<const std::string>;  // shared with requests in flight

  /// Reads the contexts of the level below. `shared` may be null; follow() reads its contexts.
  Store(const Limits& limits, std::unique_ptr<Level> below, int64_t now,
        std::unique_ptr<SharedLevel> shared = nullptr);

  /// The files of the level below that were not valid contexts, one line each.
  const std::vector<std::string>& rejected() const { return rejected_; }
  std::string_view below() const { return below_->name(); }
  /// The name of the shared level, or "" if there is none.
  std::string_view shared() const { return shared_ ? shared_->name() : ""; }
  /// True if the context outlives the process.
  bool is_durable(const Context& context) const { return below_->is_durable() || context.shared; }

  /// Applies to new contexts; existing ones stay.
  void set_limits(const Limits& limits);

  struct Put {
    Context context;
    bool is_new;
  };
  /// Stores a context. It is stored when the call returns, and durable if is_durable() is true. The
  /// same content again is the same context and counts as a use. Errors: kTooLarge naming the
  /// limit, kIo.
  Result<Put> put(std::string_view tenant, std::string content, uint32_t messages, int64_t now);
  /// Returns the content and counts as a use. Errors: kNotFound naming the id, kCorrupt (it was
  /// damaged and is gone), kIo, kUpstream naming the id (only the shared level may have it, and
  /// that does not respond).
  Result<Content> get(const Key& key, int64_t now);
  /// Returns the metadata and does not count as a use. Errors: kNotFound, kUpstream.
  Result<Context> find(const Key& key);
  /// Sets or clears the pin. Errors: kNotFound, kTooLarge (too much is pinned), kIo, kUpstream;
  /// after an error nothing has changed.
  Result<Context> pin(const Key& key, bool pinned);
  /// Removes a context; it is gone when the call returns. Other routers remove it as soon as they
  /// learn of it. Errors: kNotFound, kIo, kUpstream.
  Result<void> drop(const Key& key);
  /// Returns at most `most` contexts in the order of their ids, beginning after `after`.
  std::vector<Context> list(std::string_view tenant, std::string_view after, size_t most) const;

  /// Moves idle contexts out of memory, removes expired ones, and sends to the shared level the
  /// contexts that it lacks.
  void page(int64_t now);
  /// Applies the changes of other routers and waits at most `wait` for one. Returns false if the
  /// shared level does not respond; the next call then compares everything. Call it from one thread
  /// only.
  bool follow(std::chrono::milliseconds wait, int64_t now);
  Stats stats() const;

 private:
  struct Entry;
  using Entries = std::map<Key, Entry>;
  using Order = std::list<Entries::iterator>;  // the least recently used first
  struct Entry {
    Context context;
    int64_t used = 0;
    Content content = nullptr;  // null: not in memory
    bool is_below = false;
    uint64_t number = 0;        // serial number of this entry among all that were ever made
    uint64_t shared_bytes = 0;  // packed, in the shared level
    int64_t touched = 0;        // when the shared level last learned that it is used
    std::optional<Code> logged_error = {};  // the logged error that kept it from the shared level
    Order* order = nullptr;
    Order::iterator place = {};
  };
  struct Usage {
    uint64_t bytes = 0, pinned_bytes = 0;
    uint32_t contexts = 0;
  };
  class Change;

  Result<void> reserve(const Key& key, uint64_t bytes);
  void release(const Key& key, uint64_t bytes);
  Result<void> reserve_pin(const Context& context);
  // --- levels ---
  static tl::unexpected<Error> unavailable(const Key& key);
  Result<std::string> read(const Context& context, bool is_below, bool& is_remote);
  Result<Content> page_in(const Context& context, uint64_t number, bool is_below, int64_t now);
  Result<void> keep_pin(Context wanted, bool is_below, int64_t ttl_s);
  void make_room(int64_t now);
  bool page_out_one(int64_t now);
  void expire(Order& order, int64_t now);

  // --- the shared level ---
  Result<void> import_shared(const Key& key);
  Result<bool> is_used_elsewhere(const Context& context, int64_t now);
  bool release_below(int64_t now);
  void send_pending(int64_t now);
  bool send_pending(const Key& key, int64_t now);
  void keep_pending(const Key& key, const Error& error);
  bool compare(int64_t now);
  void compare(const Context& known, std::optional<int64_t> dropped);
  bool apply_change(const SharedChange& change, int64_t now);
  void apply_pin(const Key& key, bool pinned);
  bool apply_drop(const Key& key);
  void forget(const Key& key);
  bool count_failure(const Error& error);

  // --- bookkeeping ---
  Entries::iterator add_existing(Context context, bool is_below, int64_t now);
  Entries::iterator insert(Context context, Content content, bool is_below, int64_t now);
  void erase(Entries::iterator at);
  void use(Entry& entry, int64_t now);
  void mark_below(Entry& entry);
  void unmark_below(Entry& entry);
  void mark_shared(Entry& entry, uint64_t packed_bytes);
  void mark_unshared(Entry& entry);
  void mark_pinned(Entries::iterator at, bool pinned);
  void set_content(Entry& entry, Content content);
  void move_to_order(Entries::iterator at);
  Order::iterator first_idle(Order& order) const;

  const std::unique_ptr<Level> below_;
  const std::unique_ptr<SharedLevel> shared_;
  std::string cursor_;  // for follow(); "": compare everything
  std::vector<std::string> rejected_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Key> changing_;  // only one thread changes a context at a time; readers never wait
  Limits limits_;
  Entries entries_;
  Order in_memory_, packed_, pinned_;
  Order remote_;           // in the shared level only
  std::set<Key> pending_;  // contexts that the shared level lacks or must learn were used
  Key last_sent_;          // the last one that was sent
  bool is_compared_ = false;
  // By tenant, including contexts that are being stored
  std::map<std::string, Usage, std::less<>> usage_;
  uint64_t entries_made_ = 0;
  Stats stats_;
};

}  // namespace signalbox::contexts
