#pragma once
// Vectors under ids, in partitions, and the nearest of them by cosine: what stands in front of the
// semantic cache's entries. A row is kept in 8 bits a value. A partition (a tenant, a model, a
// recipe: whoever asks chooses) is an index of its own, so that a search cannot meet a row of
// another one, and costs nothing for rows that it may not see; filtering while walking a graph that
// all share was left, since it loses recall where a partition is a small part of all.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"

namespace signalbox::cache {

struct VectorIndexOptions {
  int32_t dim = 0;                 // 1 to kDimMax
  size_t rows_max = 16'000'000;    // over all partitions
  uint64_t seed = 0x5167'6e61'6c;  // of what is drawn while a graph is built
};

struct Hit {
  uint64_t id;
  float cosine;  // -1 to 1; of the rows in 8 bits, and 1 between equal vectors
};

/// Thread-safe. Searches run side by side; add() and remove() wait for each other, work out what
/// changes beside the searches, and shut them out only while they write it down (microseconds).
class VectorIndex {
 public:
  static constexpr int32_t kDimMax = 16'384;
  static constexpr size_t kHitsMax = 1'000;

  /// Errors: kInvalid for a dim out of range.
  static Result<std::unique_ptr<VectorIndex>> create(const VectorIndexOptions& options);
  ~VectorIndex();

  /// x (dim), of any length but zero: only its direction counts. Errors: kInvalid where x has
  /// another size, is zero or not finite, or the id is there already, in any partition; kTooLarge
  /// over rows_max.
  Result<void> add(uint64_t id, uint64_t partition, std::span<const float> x);

  /// Whether the id was there. Its vector is gone at once.
  bool remove(uint64_t id);

  /// Up to min(k, kHitsMax) rows of this partition, best first, equals by id. None for a partition
  /// that is not there. Errors: as those of x in add().
  Result<std::vector<Hit>> search(uint64_t partition, std::span<const float> x, size_t k) const;

  bool contains(uint64_t id) const;
  std::vector<uint64_t> ids() const;  // in no order
  size_t size() const;
  size_t bytes() const;  // of memory, within some percent

 private:
  struct State;
  explicit VectorIndex(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox::cache
