// Sizes, and a stack of idle scratches under a lock that is held for a push or a pop.

#include "engine/scratch.h"

#include "kernels/kernels.h"

namespace signalbox::engine {
namespace {

void grow(Buffer<float>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer = Buffer<float>(size);
}

}  // namespace

void Scratch::reserve(const TrunkShape& shape) {
  const int64_t tokens = (int64_t{batch.tokens()} + kBatchTokens - 1) / kBatchTokens * kBatchTokens;
  grow(x, tokens * shape.hidden);
  grow(qkv, tokens * 3 * shape.hidden);
  grow(mixed, tokens * shape.hidden);
  grow(normed, int64_t{kBlockTokens} * shape.hidden);
  grow(projected, int64_t{kBlockTokens} * shape.hidden);
  grow(up, int64_t{kBlockTokens} * shape.wide);
  const int32_t longest = std::max(batch.longest(), std::min(kBatchTokens, shape.tokens_max));
  grow(attention, kernels::attention_scratch({longest, shape.heads, shape.head_dim()}));
}

ScratchPool::Lease ScratchPool::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Scratch> scratch = std::move(idle_.back());
      idle_.pop_back();
      scratch->batch.clear();
      return {*this, std::move(scratch)};
    }
  }
  return {*this, std::make_unique<Scratch>()};
}

void ScratchPool::give_back(std::unique_ptr<Scratch> scratch) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scratch));
}

}  // namespace signalbox::engine
