#pragma once
// Where answers are kept: one interface, whatever is behind it. A store knows digests, vectors and
// bytes; what questions mean, and whether an answer may be given, is the cache's business.

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

/// An answer and what it answers.
struct Entry {
  std::string id;         // Key::id
  std::string partition;  // Key::partition
  std::string question;
  std::vector<float> vector = {};  // (dim), L2-normalised; empty: found by its id only
  std::string reply;               // a chat completion as JSON, whole
  std::string recipe, decision, model;
  TimePoint created = {};
  TimePoint expires = {};
};

/// Which entries are meant: those for which everything holds that is given.
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
  std::shared_ptr<const Entry> entry;  // shared by the store and by those who are answered with it
  double similarity = 0;               // cosine
};

/// Which entry goes when there is no room: the oldest, the one that has longest not been asked for,
/// or of the sixteen oldest the one that was asked for least.
enum class Eviction : uint8_t { kFifo, kLru, kLfu };

struct MemoryLimits {
  uint64_t entries = 1000;
  uint64_t bytes = uint64_t{256} << 20;  // of entries as entry_bytes() counts them
  Eviction eviction = Eviction::kFifo;
};

struct StoreFigures {
  uint64_t entries = 0, bytes = 0;
  uint64_t evictions = 0;  // that had to make room
  uint64_t expired = 0;
};

/// Thread-safe. An entry that has expired is never found. Errors: what is behind it is not there or
/// too slow (kIo, kDeadline).
class Store {
 public:
  virtual ~Store() = default;

  /// Null when there is none.
  virtual Result<std::shared_ptr<const Entry>> find(std::string_view id, TimePoint now) = 0;
  /// The nearest entries of a partition, at least so similar, nearest first, perhaps without their
  /// replies: find() has those, and is told that one is used. `vector` (dim) is
  /// L2-normalised; entries with vectors of another length are none.
  virtual Result<std::vector<Near>> nearest(std::string_view partition,
                                            std::span<const float> vector, double similarity,
                                            size_t most, TimePoint now) = 0;
  /// Takes the place of an entry with the same id. kTooLarge for one that has no room at all.
  virtual Result<void> put(Entry entry, TimePoint now) = 0;
  /// How many there were.
  virtual Result<uint64_t> remove(std::string_view id) = 0;
  virtual Result<uint64_t> remove_all(const Filter& filter, TimePoint now) = 0;
  /// The newest first, at most so many.
  virtual Result<std::vector<std::shared_ptr<const Entry>>> list(const Filter& filter, size_t most,
                                                                 TimePoint now) = 0;
  virtual StoreFigures figures() const = 0;
  /// Of what it holds in memory.
  virtual void set_limits(const MemoryLimits& limits) = 0;
  /// Whether find() answers from memory, in microseconds; put() does always.
  virtual bool is_near() const = 0;
};

}  // namespace signalbox::cache
