// The exact scan: every row, a block at a time, and a heap of the best.

#include "router/cache/vector_partition.h"

#include <algorithm>
#include <numeric>

namespace signalbox::cache {
namespace {

bool is_better(const Hit& a, const Hit& b) {
  return a.cosine != b.cosine ? a.cosine > b.cosine : a.id < b.id;
}

// The best k of what is offered; in a heap whose front is the worst of them.
class Best {
 public:
  explicit Best(size_t k) : k_(k) {}

  void offer(const Hit& hit) {
    if (hits_.size() == k_) {
      if (!is_better(hit, hits_.front())) return;
      std::pop_heap(hits_.begin(), hits_.end(), is_better);
      hits_.back() = hit;
    } else {
      hits_.push_back(hit);
    }
    std::push_heap(hits_.begin(), hits_.end(), is_better);
  }
  std::vector<Hit> take() && {
    std::sort_heap(hits_.begin(), hits_.end(), is_better);
    return std::move(hits_);
  }

 private:
  size_t k_;
  std::vector<Hit> hits_;
};

}  // namespace

std::vector<Hit> VectorPartition::search(const Point& x, size_t k) const {
  constexpr Slot kBlock = 64;
  if (k == 0) return {};
  Best best(k);
  Slot slots[kBlock];
  float cosines[kBlock];
  for (Slot from = 0; from < rows_.size(); from += kBlock) {
    const Slot n = std::min(kBlock, rows_.size() - from);
    std::iota(slots, slots + n, from);
    rows_.cosines(x, {slots, n}, cosines);
    for (Slot i = 0; i < n; ++i) best.offer({rows_.id(slots[i]), std::min(cosines[i], 1.0f)});
  }
  return std::move(best).take();
}

}  // namespace signalbox::cache
