// A list in order of use, and a map into it.

#include "router/plugins/tools/vector_cache.h"

#include "base/sha256.h"

namespace signalbox::plugins {

Vector VectorCache::find(std::string_view text) {
  const std::string key = sha256_hex(text);
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->vector;
}

void VectorCache::put(std::string_view text, Vector vector) {
  std::string key = sha256_hex(text);
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key)) return;
  entries_.push_front({std::move(key), std::move(vector)});
  by_key_.emplace(entries_.front().key, entries_.begin());
  if (entries_.size() <= entries_max_) return;
  by_key_.erase(entries_.back().key);
  entries_.pop_back();
}

size_t VectorCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace signalbox::plugins
