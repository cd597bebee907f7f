#pragma once
// Keeps responses that clients may refer to later in memory, for a limited time.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace signalbox::dialects {

struct StoredResponse {
  std::string owner;     // the only one who may read it
  std::string response;  // the object as sent to the client
  std::string input;     // its input items, elements of a JSON array
  std::string messages;  // the conversation including this answer, elements of a JSON array

  size_t bytes() const;
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
  const Entry* find(std::string_view id, std::string_view owner, int64_t now) const;
  void erase(Entries::iterator entry);
  void make_room(size_t bytes, int64_t now);

  mutable std::mutex mutex_;
  Limits limits_;
  Entries entries_;
  std::map<std::string_view, Entries::iterator, std::less<>> by_id_;  // keys are views of entries_
  size_t bytes_ = 0;
};

}  // namespace signalbox::dialects
