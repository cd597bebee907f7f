#pragma once
// The interface of all stores for answers. A store handles digests, vectors and bytes. The cache
// decides on the meaning of questions and on whether an answer may be used.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::cache {

using TimePoint = std::chrono::steady_clock::time_point;

/// An answer and its question.
struct Entry {
  std::string id;         // Key::id
  std::string partition;  // Key::partition
  std::string question;
  std::vector<float> vector = {};  // (dim), L2-normalised; empty: found by its id only
  std::string reply;               // a whole chat completion as JSON
  std::string recipe, decision, model;
  TimePoint created = {};
  TimePoint expires = {};
};

/// Selects the entries that meet every given condition.
struct Filter {
  std::string recipe = {}, decision = {}, model = {};  // "": any
  std::chrono::seconds older_than{0};

  bool holds(const Entry& entry, TimePoint now) const {
    return (recipe.empty() || recipe == entry.recipe) &&
           (decision.empty() || decision == entry.decision) &&
           (model.empty() || model == entry.model) &&
           (older_than.count() == 0 || now - entry.created >= older_than);
  }
};

struct Near {
  std::shared_ptr<const Entry> entry;  // shared by the store and by requests that use it
  double similarity = 0;               // cosine
};

/// The entry to remove when there is no room: the oldest, the least recently used, or the least
/// often used among the sixteen oldest.
enum class Eviction : uint8_t { kFifo, kLru, kLfu };

struct MemoryLimits {
  uint64_t entries = 1000;
  uint64_t bytes = uint64_t{256} << 20;  // total of entry_bytes()
  Eviction eviction = Eviction::kFifo;
};

struct StoreFigures {
  uint64_t entries = 0, bytes = 0;
  uint64_t evictions = 0;  // entries removed to make room
  uint64_t expired = 0;
};

/// Thread-safe. An expired entry is never found. Errors: the storage is unavailable or too slow
/// (kIo, kDeadline).
class Store {
 public:
  virtual ~Store() = default;

  /// Returns nullptr if there is none.
  virtual Result<std::shared_ptr<const Entry>> find(std::string_view id, TimePoint now) = 0;
  /// The nearest entries of a partition with at least this similarity, nearest first. They may lack
  /// their replies: find() returns those and counts the use. `vector` (dim) is L2-normalised;
  /// entries with vectors of another length are ignored.
  virtual Result<std::vector<Near>> nearest(std::string_view partition,
                                            std::span<const float> vector, double similarity,
                                            size_t most, TimePoint now) = 0;
  /// Replaces an entry with the same id. kTooLarge for an entry larger than the whole store.
  virtual Result<void> put(Entry entry, TimePoint now) = 0;
  /// Returns how many entries were removed.
  virtual Result<uint64_t> remove(std::string_view id) = 0;
  virtual Result<uint64_t> remove_all(const Filter& filter, TimePoint now) = 0;
  /// The newest first, at most `most`.
  virtual Result<std::vector<std::shared_ptr<const Entry>>> list(const Filter& filter, size_t most,
                                                                 TimePoint now) = 0;
  virtual StoreFigures figures() const = 0;
  /// Limits what the store keeps in memory.
  virtual void set_limits(const MemoryLimits& limits) = 0;
  /// True if find() uses only memory and takes microseconds; put() always does.
  virtual bool is_near() const = 0;
};

}  // namespace signalbox::cache
