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
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::vector_index {

struct VectorIndexOptions {
  int32_t dim = 0;                 // 1 to kDimMax
  size_t rows_max = 16'000'000;    // over all partitions
  uint64_t seed = 1;               // of what is drawn while a graph is built
  size_t graph_rows_min = 16'384;  // a partition of fewer is scanned, exactly
  size_t search_width = 128;       // of a graph: more finds more of the nearest and takes longer;
                                   // a quarter more with each doubling from 16,384 rows on
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

  /// Writes all of it beside `path` and renames. Searches go on meanwhile; add() and remove() wait
  /// until it is with the operating system (some seconds for a million rows). Errors: kIo.
  Result<void> save(const std::filesystem::path& path) const;

  /// What save() wrote, with the seed that it was built with and the other options as given.
  /// Errors: kNotFound, kIo; kUnsupported for another version or byte order, kInvalid for another
  /// dim, kTooLarge over rows_max, kCorrupt for a file that is cut short, changed or contradicts
  /// itself.
  static Result<std::unique_ptr<VectorIndex>> load(const VectorIndexOptions& options,
                                                   const std::filesystem::path& path);
  /// The same of bytes in memory.
  static Result<std::unique_ptr<VectorIndex>> parse(const VectorIndexOptions& options,
                                                    std::string_view bytes);

  bool contains(uint64_t id) const;
  std::vector<uint64_t> ids() const;  // in no order
  int32_t dim() const;
  size_t size() const;
  size_t bytes() const;  // of memory, within some percent

 private:
  struct State;
  explicit VectorIndex(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox::vector_index
