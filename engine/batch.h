#pragma once
// Several texts in one batch, packed without padding.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace signalbox::engine {

class Adapter;

/// Ragged: sequence i is ids[starts[i] .. starts[i + 1]). Reuse it: clear() keeps the capacity.
struct Batch {
  std::vector<int32_t> ids;              // (tokens)
  std::vector<uint8_t> types;            // (tokens): segment of each token, 0 or 1
  std::vector<int32_t> starts{0};        // (sequences + 1)
  std::vector<const Adapter*> adapters;  // (sequences): adapter of each, or nullptr

  int32_t tokens() const { return starts.back(); }
  int32_t sequences() const { return static_cast<int32_t>(starts.size()) - 1; }
  int32_t begin(int32_t sequence) const { return starts[sequence]; }
  int32_t length(int32_t sequence) const { return starts[sequence + 1] - starts[sequence]; }
  /// Returns the sequence of a row.
  int32_t sequence_of(int32_t row) const {
    return static_cast<int32_t>(std::upper_bound(starts.begin(), starts.end(), row) -
                                starts.begin()) -
           1;
  }
  int32_t longest() const {
    int32_t most = 0;
    for (int32_t i = 0; i < sequences(); ++i) most = std::max(most, length(i));
    return most;
  }

  bool is_adapted() const {
    return std::ranges::any_of(adapters, [](const Adapter* adapter) { return adapter != nullptr; });
  }

  /// `sequence_types` has the length of `sequence`, or is empty for all zeros.
  void add(std::span<const int32_t> sequence, std::span<const uint8_t> sequence_types,
           const Adapter* adapter = nullptr) {
    adapters.push_back(adapter);
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    types.insert(types.end(), sequence_types.begin(), sequence_types.end());
    types.resize(ids.size());
    starts.push_back(static_cast<int32_t>(ids.size()));
  }
  void clear() {
    ids.clear();
    types.clear();
    adapters.clear();
    starts.assign(1, 0);
  }
};

}  // namespace signalbox::engine
