#pragma once
// Several texts packed one after the other, without padding.

#include <cstdint>
#include <span>
#include <vector>

namespace signalbox::engine {

/// Ragged: sequence i is ids[starts[i] .. starts[i + 1]). Reuse it: clear() keeps capacity.
struct Batch {
  std::vector<int32_t> ids;        // (tokens)
  std::vector<int32_t> starts{0};  // (sequences + 1)

  int32_t tokens() const { return starts.back(); }
  int32_t sequences() const { return static_cast<int32_t>(starts.size()) - 1; }
  int32_t begin(int32_t sequence) const { return starts[sequence]; }
  int32_t length(int32_t sequence) const { return starts[sequence + 1] - starts[sequence]; }

  void add(std::span<const int32_t> sequence) {
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    starts.push_back(static_cast<int32_t>(ids.size()));
  }
  void clear() {
    ids.clear();
    starts.assign(1, 0);
  }
};

}  // namespace signalbox::engine
