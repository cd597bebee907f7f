#pragma once
// Caches embeddings of tool texts, because clients send the same definitions with every request.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace signalbox::plugins {

using Vector = std::shared_ptr<const std::vector<float>>;

/// For one embedder. Holds the `entries_max` most recently used texts, by their SHA-256.
/// Thread-safe.
class VectorCache {
 public:
  explicit VectorCache(size_t entries_max = 4096) : entries_max_(entries_max) {}

  /// Returns nullptr if the text is not cached.
  Vector find(std::string_view text);
  void put(std::string_view text, Vector vector);
  size_t size() const;

 private:
  struct Entry {
    std::string key;
    Vector vector;
  };
  const size_t entries_max_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace signalbox::plugins
