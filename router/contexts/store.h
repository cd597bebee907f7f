#pragma once
// Contexts of all tenants over two levels: those in use in memory, the others in a level below,
// packed; and over a third that several routers share, if there is one. What a client has been told
// is durable is in a level that outlives the process first; nothing is given up to make room for
// something else: who has no room left is refused.
//
// With a shared level every router knows all contexts, whoever stored them, so limits and lists are
// of all. While it is away each goes on with what it has, and catches up afterwards: what was
// stored meanwhile goes there (`owed_`), what others have dropped goes.
//
// Tenant, id, size and age of every context are held in memory, some 600 bytes each.

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
  uint64_t memory_bytes = 256 << 20;        // in memory, unpacked
  uint64_t bytes_max = 1 << 30;             // of all contexts, wherever they are, unpacked
  uint64_t contexts_max = 1 << 18;          // of all
  uint64_t context_bytes_max = 16 << 20;    // of one
  uint64_t tenant_bytes_max = 256 << 20;    // of a tenant's
  uint32_t tenant_contexts_max = 1000;      // of a tenant
  uint64_t tenant_pinned_bytes = 32 << 20;  // of those it may pin; all may pin half of memory_bytes
  int64_t idle_s = 600;                     // unused for so long, it leaves memory
  int64_t ttl_s = 7 * 24 * 3600;            // and for so long, it is forgotten; 0: never
  // With a shared level: what lies below memory here is left to it
  uint64_t local_bytes = 1 << 30;    // over so many packed bytes
  int64_t local_idle_s = 24 * 3600;  // and unused for so long; 0: never
};

/// What /metrics shows. Counts are since the start.
struct Stats {
  uint64_t contexts = 0, bytes = 0;           // all, unpacked
  uint64_t in_memory = 0, memory_bytes = 0;   // of them
  uint64_t pinned = 0, pinned_bytes = 0;      // of them
  uint64_t below = 0, below_bytes = 0;        // packed
  uint64_t shared = 0, shared_bytes = 0;      // packed, of those known here
  uint64_t puts = 0, refused = 0, drops = 0;  // by clients
  uint64_t memory_hits = 0, below_hits = 0, shared_hits = 0, misses = 0;
  uint64_t shared_failures = 0;  // of asking the shared level
  uint64_t owed = 0;             // contexts that wait to be put there
  uint64_t page_outs = 0, expired = 0, damaged = 0;
};

/// Thread-safe. Calls may write, read, pack or unpack a context and wait for a disk and, as long as
/// its limits are, for the shared level: not for an event loop. `now` is seconds since 1970.
class Store {
 public:
  using Content = std::shared_ptr<const std::string>;  // shared with requests that are being sent

  /// Asks the level what it holds; the shared one, null if there is none, is asked by follow().
  Store(const Limits& limits, std::unique_ptr<Level> below, int64_t now,
        std::unique_ptr<SharedLevel> shared = nullptr);

  /// What the level held and was none, one line each.
  const std::vector<std::string>& rejected() const { return rejected_; }
  std::string_view below() const { return below_->name(); }
  /// "": there is none.
  std::string_view shared() const { return shared_ ? shared_->name() : ""; }
  /// Whether it outlives the process.
  bool is_durable(const Context& context) const { return below_->is_durable() || context.shared; }

  /// From now on; what is there stays.
  void set_limits(const Limits& limits);

  struct Put {
    Context context;
    bool is_new;
  };
  /// Stored once it returns, and durable where is_durable() says so. The same content again is the
  /// same context, and used. Errors: kTooLarge naming the limit, kIo.
  Result<Put> put(std::string_view tenant, std::string content, uint32_t messages, int64_t now);
  /// Errors: kNotFound naming the id, kCorrupt (it was damaged where it lay, and is gone), kIo,
  /// kUpstream naming the id (only the shared level may have it, and does not answer).
  Result<Content> get(const Key& key, int64_t now);
  /// Without using it. Errors: kNotFound, kUpstream.
  Result<Context> find(const Key& key);
  /// Errors: kNotFound, kTooLarge (too much is pinned), kIo, kUpstream, and nothing has changed.
  Result<Context> pin(const Key& key, bool pinned);
  /// Gone once it returns; from other routers as soon as they are told. Errors: kNotFound, kIo,
  /// kUpstream.
  Result<void> drop(const Key& key);
  /// In the order of ids, those behind `after`.
  std::vector<Context> list(std::string_view tenant, std::string_view after, size_t most) const;

  /// Moves what is idle out of memory, forgets what has been for too long, and puts into the shared
  /// level what it does not have yet.
  void page(int64_t now);
  /// Takes up what other routers have done, waiting for it at most `wait`. False when the shared
  /// level does not answer; the next call then compares everything. One thread's alone.
  bool follow(std::chrono::milliseconds wait, int64_t now);
  Stats stats() const;

 private:
  struct Entry;
  using Entries = std::map<Key, Entry>;
  using Order = std::list<Entries::iterator>;  // the one used longest ago first
  struct Entry {
    Context context;
    int64_t used = 0;
    Content content = nullptr;  // null: not in memory
    bool is_below = false;
    uint64_t number = 0;              // of this entry among all that there have been
    uint64_t shared_bytes = 0;        // packed, in the shared level
    int64_t touched = 0;              // when the shared level was last told that it is used
    std::optional<Code> unread = {};  // why it could not be put there, as the log was told
    Order* among = nullptr;
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
  // of the levels
  static tl::unexpected<Error> no_answer(const Key& key);
  Result<std::string> read(const Context& context, bool is_below, bool& is_far);
  Result<Content> page_in(const Context& context, uint64_t number, bool is_below, int64_t now);
  Result<void> keep_pin(Context wanted, bool is_below, int64_t ttl_s);
  void make_room(int64_t now);
  bool page_out_one(int64_t now);
  void expire(Order& order, int64_t now);

  // of the shared level
  Result<void> meet(const Key& key);
  Result<bool> is_used_elsewhere(const Context& context, int64_t now);
  bool leave_below(int64_t now);
  void settle(int64_t now);
  bool settle(const Key& key, int64_t now);
  void stay_owed(const Key& key, const Error& error);
  bool compare(int64_t now);
  void compare(const Context& known, std::optional<int64_t> dropped);
  bool take(const SharedChange& change, int64_t now);
  void take_pin(const Key& key, bool pinned);
  bool take_drop(const Key& key);
  void forget(const Key& key);
  bool failed(const Error& error);

  // of the books
  Entries::iterator take_up(Context context, bool is_below, int64_t now);
  Entries::iterator insert(Context context, Content content, bool is_below, int64_t now);
  void erase(Entries::iterator at);
  void use(Entry& entry, int64_t now);
  void be_below(Entry& entry);
  void leave_below(Entry& entry);
  void be_shared(Entry& entry, uint64_t packed_bytes);
  void be_unshared(Entry& entry);
  void mark_pinned(Entries::iterator at, bool pinned);
  void hold(Entry& entry, Content content);
  void file(Entries::iterator at);
  Order::iterator first_idle(Order& order) const;

  const std::unique_ptr<Level> below_;
  const std::unique_ptr<SharedLevel> shared_;
  std::string cursor_;  // of follow(); "": everything is to be compared
  std::vector<std::string> rejected_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Key> changing_;  // one at a time changes a context; nobody waits to read one
  Limits limits_;
  Entries entries_;
  Order in_memory_, packed_, pinned_;
  Order far_;           // in the shared level only
  std::set<Key> owed_;  // what the shared level is to be told of
  Key settled_;         // the last that it was
  bool is_compared_ = false;
  std::map<std::string, Usage, std::less<>> usage_;  // by tenant, of what is and what is being put
  uint64_t entries_made_ = 0;
  Stats stats_;
};

}  // namespace signalbox::contexts
