#pragma once
// Caches embeddings of tool texts, because clients send the same definitions with every request.

#include <memory>
#include <string_view>
#include <vector>

#include "base/recently_used.h"
#include "base/sha256.h"

namespace signalbox::plugins {

using Vector = std::shared_ptr<const std::vector<float>>;

/// For one embedder. Holds the `entries_max` most recently used texts, by their SHA-256.
/// Thread-safe.
class VectorCache {
 public:
  explicit VectorCache(size_t entries_max = 4096) : vectors_(entries_max) {}

  /// Returns nullptr if the text is not cached.
  Vector find(std::string_view text) { return vectors_.find(sha256_hex(text)).value_or(nullptr); }
  void put(std::string_view text, Vector vector) {
    vectors_.keep(sha256_hex(text), std::move(vector));
  }

 private:
  RecentlyUsed<Vector> vectors_;
};

}  // namespace signalbox::plugins
