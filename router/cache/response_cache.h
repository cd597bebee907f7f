#pragma once
// Finds earlier answers: to the same request, or to a question with the same meaning.

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
  std::shared_ptr<const Entry> entry;  // shared with the store; nullptr: a miss
  double similarity = 0;               // 1 for an identical request
  bool failed = false;                 // the store was unavailable
  explicit operator bool() const { return entry != nullptr; }
};

struct Statistics {
  uint64_t hits_exact = 0, hits_semantic = 0;
  uint64_t misses = 0;
  uint64_t refused = 0;  // similar, but another question: at most one for each lookup
  std::array<uint64_t, 8> refused_by = {};  // by Difference
  uint64_t stored = 0;
  // Lookups and writes that failed because the store or the model was unavailable
  uint64_t failed = 0;
  StoreFigures store;
};

/// Thread-safe. Errors of the store are counted; the caller sees a miss.
class ResponseCache {
 public:
  /// The number of similar entries that the guard checks, nearest first.
  static constexpr size_t kCandidatesMax = 8;

  explicit ResponseCache(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  /// Takes microseconds with a store in memory. Ignores answers older than `max_age`.
  Hit find(const Key& key, TimePoint now, std::optional<std::chrono::seconds> max_age = {});
  /// Compares `vector` (dim), the embedding of key.question, with those of the partition.
  Hit find_near(const Key& key, std::span<const float> vector, double similarity, TimePoint now,
                std::optional<std::chrono::seconds> max_age = {});
  void put(Entry entry, TimePoint now);
  /// Counts a request that goes to its model; `failed` if something was unavailable.
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
