#pragma once
// Keeps responses that clients may refer to later in memory, for a limited time. Several routers
// may share them through a level below.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace signalbox::dialects {

struct StoredResponse {
  std::string owner;     // the only one who may read it
  std::string response;  // the object as sent to the client
  std::string input;     // its input items, elements of a JSON array
  std::string messages;  // the conversation including this answer, elements of a JSON array
  int64_t since = 0;     // when it was stored, in seconds since 1970

  size_t bytes() const;       // of the memory that it holds
  size_t text_bytes() const;  // of the texts, which another router gets
};
using ResponsePointer = std::shared_ptr<const StoredResponse>;

/// The level that several routers share. Thread-safe.
class SharedResponses {
 public:
  struct Found {
    bool is_removed = false;
    ResponsePointer response = nullptr;  // null: unknown, or not read
  };
  struct Stats {
    bool works = true;                               // it answers, and takes what is new
    uint64_t written = 0, refused = 0, dropped = 0;  // responses
    uint64_t waiting = 0;                            // responses that are not written yet
    uint64_t late = 0;                               // replies that went on before that
  };
  virtual ~SharedResponses() = default;

  /// Reads a response, or only whether it was removed if the caller has it (`is_here`). Blocks
  /// within a time limit. Errors: kUpstream if it cannot be read now, kTooLarge if it is larger
  /// than `bytes_max`.
  virtual Result<Found> get(std::string_view id, bool is_here, size_t bytes_max) = 0;
  /// Stores it as soon as possible. Calls `done` (which may be null) once, on any thread, when it
  /// is stored or an attempt has failed.
  virtual void put(std::string_view id, ResponsePointer response, int64_t ttl_s,
                   std::function<void()> done) = 0;
  /// Removes it for all routers. The deletion is remembered for `ttl_s`, or longer if the level
  /// knows that a router may have the response for longer. Blocks within a time limit. Errors:
  /// kUpstream; then it is not removed.
  virtual Result<void> remove(std::string_view id, int64_t ttl_s) = 0;
  /// Returns the time that the end of a reply with that response should wait for `done`.
  virtual std::chrono::milliseconds patience(const StoredResponse& response) const = 0;
  virtual Stats stats() const = 0;
};

/// Thread-safe. When full, it drops the oldest response. A conversation that continues stores a new
/// response each time, so its latest one stays longest. All times are in seconds of one clock of
/// the caller.
class ResponseStore {
 public:
  struct Limits {
    size_t responses = 10'000;
    size_t bytes = size_t{1} << 28;
    int64_t ttl_s = 24 * 3600;
  };
  explicit ResponseStore(Limits limits) : limits_(limits) {}

  /// Applies from now on; responses that have become too old are dropped by the next put().
  void set_limits(Limits limits);
  /// A response larger than the whole memory limit is not stored. Returns the response for
  /// publish(), whether it was stored or not.
  ResponsePointer put(std::string id, StoredResponse response, int64_t now);
  /// Returns nullptr if it is unknown, expired, or of another owner.
  ResponsePointer get(std::string_view id, std::string_view owner, int64_t now) const;
  /// Returns true if it existed.
  bool remove(std::string_view id, std::string_view owner, int64_t now);
  /// Removes it whoever owns it.
  void forget(std::string_view id);
  /// All responses that have not expired, oldest first.
  std::vector<std::pair<std::string, ResponsePointer>> all(int64_t now) const;

  /// Call it before the first request, and with null before `below` ends. Null: nothing is shared.
  void share(SharedResponses* below) { below_ = below; }
  bool is_shared() const { return below_ != nullptr; }
  SharedResponses* below() const { return below_; }
  // These also use the shared level if there is one, and then find() and withdraw() block.
  /// Like get(). At most `loads_max` bytes are read from the shared level, and it is lowered by
  /// those that were read. Errors: kUpstream if only the shared level can have it and does not
  /// respond; kTooLarge.
  Result<ResponsePointer> find(std::string_view id, std::string_view owner, int64_t now,
                               size_t& loads_max);
  Result<ResponsePointer> find(std::string_view id, std::string_view owner, int64_t now);
  /// Like remove(). Errors: kUpstream; then it is not removed.
  Result<bool> withdraw(std::string_view id, std::string_view owner, int64_t now);
  /// Gives a response to the shared level. Returns how long to wait for `done`, which is called
  /// when it is there, on any thread; nullopt if there is nothing to wait for.
  std::optional<std::chrono::milliseconds> publish(std::string_view id, ResponsePointer response,
                                                   int64_t now, std::function<void()> done);
  /// The seconds that a response has left.
  int64_t left(const StoredResponse& response, int64_t now) const;

  size_t size() const;
  size_t bytes() const;

 private:
  struct Entry {
    std::string id;
    // Shared with callers that are writing it out.
    ResponsePointer response;
  };
  using Entries = std::list<Entry>;  // oldest first

  bool is_expired(const StoredResponse& response, int64_t now) const;
  const Entry* entry_of(std::string_view id, std::string_view owner, int64_t now) const;
  void erase(Entries::iterator entry);
  void make_room(size_t bytes, int64_t now);

  std::atomic<SharedResponses*> below_ = nullptr;
  mutable std::mutex mutex_;
  Limits limits_;
  Entries entries_;
  std::map<std::string_view, Entries::iterator, std::less<>> by_id_;  // keys are views of entries_
  size_t bytes_ = 0;
};

}  // namespace signalbox::dialects
