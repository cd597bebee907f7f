#pragma once
// The values that were used last, by a key.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace signalbox {

/// Drops the values whose use is longest ago, so that the others stay within both bounds.
/// Thread-safe.
template <class Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(size_t entries_max, size_t bytes_max = SIZE_MAX)
      : entries_max_(entries_max), bytes_max_(bytes_max) {}

  std::optional<Value> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  /// Replaces the value of the key, if there is one. `bytes` is the size of the value. One of more
  /// than `bytes_max` is not kept.
  void keep(const std::string& key, Value value, size_t bytes = 0) {
    if (bytes > bytes_max_) return;
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find(key); found != places_.end()) drop(found->second);
    entries_.push_front({key, std::move(value), bytes});
    places_[key] = entries_.begin();
    bytes_ += bytes;
    while (entries_.size() > entries_max_ || bytes_ > bytes_max_) drop(std::prev(entries_.end()));
  }

 private:
  struct Entry {
    std::string key;
    Value value;
    size_t bytes;
  };
  void drop(typename std::list<Entry>::iterator at) {
    bytes_ -= at->bytes;
    places_.erase(at->key);
    entries_.erase(at);
  }

  const size_t entries_max_, bytes_max_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last is first
  std::map<std::string, typename std::list<Entry>::iterator> places_;
  size_t bytes_ = 0;
};

}  // namespace signalbox
