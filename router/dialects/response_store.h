#pragma once
// Responses that clients may refer to later, in memory, for a while.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace signalbox::dialects {

struct StoredResponse {
  std::string owner;     // who may see it
  std::string response;  // the object as the client got it
  std::string input;     // its input items, elements of a JSON array
  std::string messages;  // the conversation up to and with this answer, elements of a JSON array

  size_t bytes() const;
};

/// Thread-safe. Full, it forgets the oldest; so what a conversation goes on from stays longest.
/// Times are in seconds of one clock of the caller's.
class ResponseStore {
 public:
  struct Limits {
    size_t responses = 10'000;
    size_t bytes = size_t{1} << 28;
    int64_t ttl_s = 24 * 3600;
  };
  explicit ResponseStore(Limits limits) : limits_(limits) {}

  /// From now on; what is there longer than they allow goes with the next put().
  void set_limits(Limits limits);
  /// One that is larger than all the memory together is not kept.
  void put(std::string id, StoredResponse response, int64_t now);
  /// Null: unknown, expired, or somebody else's.
  std::shared_ptr<const StoredResponse> get(std::string_view id, std::string_view owner,
                                            int64_t now) const;
  /// Whether it was there.
  bool remove(std::string_view id, std::string_view owner, int64_t now);

  size_t size() const;
  size_t bytes() const;

 private:
  struct Entry {
    std::string id;
    int64_t since = 0;
    // Shared with those who have got it and are writing it out.
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
  std::map<std::string_view, Entries::iterator, std::less<>> by_id_;  // keys look into entries_
  size_t bytes_ = 0;
};

}  // namespace signalbox::dialects
