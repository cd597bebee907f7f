#pragma once
// Answers that were given before: by the request as it is, or by a question that asks the same.

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "router/cache/guard.h"
#include "router/cache/key.h"
#include "router/cache/store.h"

namespace signalbox::cache {

struct Hit {
  std::shared_ptr<const Entry> entry;  // shared with the store; null: a miss
  double similarity = 0;               // 1 for a request that is the same
  bool failed = false;                 // the store was not there
  explicit operator bool() const { return entry != nullptr; }
};

struct Statistics {
  uint64_t hits_exact = 0, hits_semantic = 0;
  uint64_t misses = 0;
  uint64_t refused = 0;  // near enough, and not the same question: at most one a lookup
  std::array<uint64_t, 8> refused_by = {};  // by Difference
  uint64_t stored = 0;
  uint64_t failed = 0;  // lookups and writes that found the store or the model not there
  StoreFigures store;
};

/// Thread-safe. Errors are the store's, and counted; to the caller they are a miss.
class ResponseCache {
 public:
  /// Near entries that the guard is asked about, the nearest first.
  static constexpr size_t kAskedMax = 8;

  explicit ResponseCache(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  /// Microseconds. `max_age`: an older answer is none.
  Hit find(const Key& key, TimePoint now, std::optional<std::chrono::seconds> max_age = {});
  /// `vector` (dim) embeds key.question. Compares it with those of the partition.
  Hit find_near(const Key& key, std::span<const float> vector, double similarity, TimePoint now,
                std::optional<std::chrono::seconds> max_age = {});
  void put(Entry entry, TimePoint now);
  /// A request that goes to its model after all; `failed`: because something was not there.
  void count_miss(bool failed);

  Store& store() { return *store_; }
  Statistics statistics() const;

 private:
  Hit failure();

  std::unique_ptr<Store> store_;
  std::atomic<uint64_t> hits_exact_{0}, hits_semantic_{0}, misses_{0}, refused_{0}, stored_{0},
      failed_{0};
  std::array<std::atomic<uint64_t>, 8> refused_by_ = {};
};

}  // namespace signalbox::cache
