// Buffer sizes, and a stack of idle Scratch objects. The lock is held only for a push or a pop.

#include "engine/scratch.h"

#include "kernels/kernels.h"

namespace signalbox::engine {
namespace {

template <class T>
void grow(Buffer<T>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer = Buffer<T>(size);
}

// Returns the scratch bytes needed by either kind of attention.
int64_t attention_bytes(const kernels::AttentionShape& shape) {
  const auto floats = static_cast<int64_t>(sizeof(float)) * kernels::attention_scratch(shape);
  return std::max(floats, kernels::attention_i16_scratch(shape));
}

}  // namespace

void Scratch::reserve(const TrunkShape& shape, int32_t threads) {
  const int64_t tokens = (int64_t{batch.tokens()} + kBatchTokens - 1) / kBatchTokens * kBatchTokens;
  grow(x, tokens * shape.hidden);
  grow(qkv, tokens * 3 * shape.hidden);
  grow(mixed, tokens * shape.hidden);
  const int32_t longest = std::max(batch.longest(), std::min(kBatchTokens, shape.tokens_max));
  if (static_cast<int32_t>(blocks.size()) < threads) blocks.resize(threads);
  int32_t rank_max = 0;
  for (const Adapter* adapter : batch.adapters) {
    if (adapter != nullptr) rank_max = std::max(rank_max, adapter->rank_max());
  }
  for (BlockScratch& block : blocks) {
    if (rank_max > 0) block.low_rank.reserve(kBlockTokens, rank_max);
    grow(block.normed, int64_t{kBlockTokens} * shape.hidden);
    grow(block.up, int64_t{kBlockTokens} * shape.wide);
    block.operands.reserve(kBlockTokens, std::max(shape.hidden, shape.wide));
    grow(block.attention, attention_bytes({longest, shape.heads, shape.head_dim()}));
  }
}

void attend(const kernels::Table& kernels, kernels::Format format, const TrunkShape& shape,
            int32_t window, Scratch& s, Workers& workers) {
  const int64_t hidden = shape.hidden;
  workers.for_each(s.batch.sequences() * shape.heads, [&](int32_t i, int32_t slot) {
    const int32_t sequence = i / shape.heads, head = i % shape.heads;
    const kernels::AttentionShape of{s.batch.length(sequence), shape.heads, shape.head_dim(),
                                     window};
    const int64_t begin = s.batch.begin(sequence);
    const float* qkv = s.qkv.data() + begin * 3 * hidden;  // (length, 3, hidden)
    float* out = s.mixed.data() + begin * hidden;          // (length, hidden)
    std::byte* room = s.blocks[slot].attention.data();
    if (format == kernels::Format::kF32) {
      kernels.attention(of, head, qkv, reinterpret_cast<float*>(room), out);
    } else {
      kernels.attention_i16(of, head, qkv, room, out);
    }
  });
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
