#pragma once
// Vectors with ids, in partitions, and a search for the nearest ones by cosine. The semantic cache
// uses it to find similar entries. A row is stored with 8 bits for each value. Each partition (a
// tenant, a model, a recipe; the caller chooses) has an index of its own, so a search never sees
// rows of another partition and never pays for them. Filtering in a graph that all partitions share
// was rejected, since it loses recall if a partition is a small part of the whole.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace signalbox::vector_index {

struct VectorIndexOptions {
  int32_t dim = 0;                 // 1 to kDimMax
  size_t rows_max = 16'000'000;    // total of all partitions
  uint64_t seed = 1;               // for the random choices while a graph is built
  size_t graph_rows_min = 16'384;  // smaller partitions are scanned, which is exact
  // Beam width in a graph: a larger one finds more of the nearest rows and takes longer; it grows
  // by a quarter with each doubling from 16,384 rows on
  size_t search_width = 128;
};

struct Hit {
  uint64_t id;
  float cosine;  // -1 to 1; of the 8-bit rows, and 1 between equal vectors
};

/// Thread-safe. Searches run concurrently. add() and remove() run one at a time: they plan a change
/// while searches continue, and block searches only while they write it (microseconds).
class VectorIndex {
 public:
  static constexpr int32_t kDimMax = 16'384;
  static constexpr size_t kHitsMax = 1'000;

  /// Errors: kInvalid for a dim out of range.
  static Result<std::unique_ptr<VectorIndex>> create(const VectorIndexOptions& options);
  ~VectorIndex();

  /// x is (dim). Only its direction counts; it must not be zero. Errors: kInvalid if x has another
  /// size, is zero or not finite, or if the id exists already in any partition; kTooLarge beyond
  /// rows_max.
  Result<void> add(uint64_t id, uint64_t partition, std::span<const float> x);

  /// Returns true if the id existed. Its vector is erased at once.
  bool remove(uint64_t id);

  /// Up to min(k, kHitsMax) rows of this partition, best first, equal ones by id. Empty for an
  /// unknown partition. Errors: as for x in add().
  Result<std::vector<Hit>> search(uint64_t partition, std::span<const float> x, size_t k) const;

  /// The cosine of x with each of the ids, (ids), as search() returns it; nullopt for one that does
  /// not exist. Errors: as for x in add().
  Result<std::vector<std::optional<float>>> cosines(std::span<const uint64_t> ids,
                                                    std::span<const float> x) const;

  /// Writes everything to a temporary file next to `path` and renames it. Searches continue
  /// meanwhile; add() and remove() wait until the data is handed to the operating system (some
  /// seconds for a million rows). Errors: kIo.
  Result<void> save(const std::filesystem::path& path) const;

  /// Loads what save() wrote. The seed comes from the file, the other options are those given.
  /// Errors: kNotFound, kIo; kUnsupported for another version or byte order, kInvalid for another
  /// dim, kTooLarge beyond rows_max, kCorrupt for a file that is truncated, changed or
  /// inconsistent.
  static Result<std::unique_ptr<VectorIndex>> load(const VectorIndexOptions& options,
                                                   const std::filesystem::path& path);
  /// The same for bytes in memory.
  static Result<std::unique_ptr<VectorIndex>> parse(const VectorIndexOptions& options,
                                                    std::string_view bytes);

  bool contains(uint64_t id) const;
  std::vector<uint64_t> ids() const;  // unordered
  int32_t dim() const;
  size_t size() const;
  size_t bytes() const;  // of memory, accurate to some percent

 private:
  struct State;
  explicit VectorIndex(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace signalbox::vector_index
