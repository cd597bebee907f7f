#pragma once
// Keeps responses that clients may refer to later in memory, for a limited time. Several routers
// may share them through a level below.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"

namespace signalbox::dialects {

struct StoredResponse {
  std::string owner;     // the only one who may read it
  std::string response;  // the object as sent to the client
  std::string input;     // its input items, elements of a JSON array
  std::string messages;  // the conversation including this answer, elements of a JSON array

  size_t bytes() const;
};

/// The level that several routers share. Thread-safe. Calls block, each within a time limit.
class SharedResponses {
 public:
  enum class State : uint8_t { kUnknown, kThere, kRemoved };
  struct Found {
    State state = State::kUnknown;
    std::shared_ptr<const StoredResponse> response = nullptr;  // if it is there
  };
  virtual ~SharedResponses() = default;

  /// Errors: kUpstream if the server does not respond.
  virtual Result<Found> get(std::string_view id) = 0;
  /// Stores it now if it may wait for that, otherwise as soon as the server responds.
  virtual void put(std::string_view id, std::shared_ptr<const StoredResponse> response,
                   int64_t ttl_s, bool waits) = 0;
  /// Removes it for all routers. Errors: kUpstream; then it is not removed.
  virtual Result<void> remove(std::string_view id, int64_t ttl_s) = 0;
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
  /// A response larger than the whole memory limit is not stored.
  void put(std::string id, StoredResponse response, int64_t now);
  /// Returns nullptr if it is unknown, expired, or of another owner.
  std::shared_ptr<const StoredResponse> get(std::string_view id, std::string_view owner,
                                            int64_t now) const;
  /// Returns true if it existed.
  bool remove(std::string_view id, std::string_view owner, int64_t now);

  /// Call it before the first request. `below` outlives this; null: nothing is shared.
  void share(SharedResponses* below) { below_ = below; }
  bool is_shared() const { return below_ != nullptr; }
  // These also use the shared level if there is one, and then block.
  /// Like get(). Errors: kUpstream if only the shared level can have it and does not respond.
  Result<std::shared_ptr<const StoredResponse>> find(std::string_view id, std::string_view owner,
                                                     int64_t now);
  /// Like remove(). Errors: kUpstream; then it is not removed.
  Result<bool> withdraw(std::string_view id, std::string_view owner, int64_t now);
  /// Gives a response that was put here to the shared level.
  void publish(std::string_view id, std::string_view owner, int64_t now, bool waits = true);

  size_t size() const;
  size_t bytes() const;

 private:
  struct Entry {
    std::string id;
    int64_t since = 0;
    // Shared with callers that are writing it out.
    std::shared_ptr<const StoredResponse> response;
  };
  using Entries = std::list<Entry>;  // oldest first

  bool is_expired(const Entry& entry, int64_t now) const;
  const Entry* entry_of(std::string_view id, std::string_view owner, int64_t now) const;
  void erase(Entries::iterator entry);
  void make_room(size_t bytes, int64_t now);

  SharedResponses* below_ = nullptr;
  mutable std::mutex mutex_;
  Limits limits_;
  Entries entries_;
  std::map<std::string_view, Entries::iterator, std::less<>> by_id_;  // keys are views of entries_
  size_t bytes_ = 0;
};

}  // namespace signalbox::dialects
