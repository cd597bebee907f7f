// Buffer sizes, and a stack of idle Scratch objects. The lock is held only for a push or a pop.

#include "engine/scratch.h"

#include <algorithm>
#include <cmath>

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

// Comparisons with NaN are false, so a guard that used such values would admit everything.
Result<void> check_finite(const std::filesystem::path& model, std::span<const float> values,
                          std::string_view name) {
  if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return {};
  return fail(Code::kCorrupt, "{}: {} are not finite", model.string(), name);
}

void Scratch::reserve(const TrunkShape& shape, int32_t threads) {
  const int64_t tokens = (int64_t{batch.tokens()} + kBatchTokens - 1) / kBatchTokens * kBatchTokens;
  grow(x, tokens * shape.hidden);
  grow(qkv, tokens * shape.qkv());
  grow(mixed, tokens * shape.mixed());
  if (shape.has_side) grow(side, tokens * shape.hidden);
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
    block.operands.reserve(kBlockTokens, std::max({shape.hidden, shape.mixed(), shape.wide}));
    grow(block.attention, attention_bytes(shape.attention(longest, kernels::kNoWindow)));
  }
}

void Scratch::keep(std::span<const int32_t> sequences, int32_t hidden) {
  Batch rest;
  for (const int32_t i : sequences) {
    const int64_t begin = batch.begin(i), length = batch.length(i);
    const float* from = x.data() + begin * hidden;
    float* to = x.data() + int64_t{rest.tokens()} * hidden;
    if (to != from) std::copy(from, from + length * hidden, to);
    std::swap(encodings[rest.sequences()], encodings[i]);
    rest.add(std::span(batch.ids).subspan(begin, length),
             std::span(batch.types).subspan(begin, length), batch.adapters[i]);
  }
  batch = std::move(rest);
}

void rotate(const kernels::Table& kernels, const TrunkShape& shape, const RopeTables& rope,
            const Batch& batch, int64_t begin, int32_t rows, float* qkv) {
  const int64_t end = begin + rows;
  for (int64_t row = begin; row < end;) {
    const int32_t sequence = batch.sequence_of(static_cast<int32_t>(row));
    const int64_t first = batch.begin(sequence);
    const int64_t last = std::min<int64_t>(end, first + batch.length(sequence));
    kernels.rope(shape.attention(static_cast<int32_t>(last - row), kernels::kNoWindow),
                 rope.of[sequence] + (row - first) * shape.head_dim(),
                 qkv + (row - begin) * shape.qkv());
    row = last;
  }
}

void attend(const kernels::Table& kernels, kernels::Format format, const TrunkShape& shape,
            int32_t window, Scratch& s, Workers& workers, const kernels::DistanceTerms* terms) {
  workers.for_each(s.batch.sequences() * shape.heads, [&](int32_t i, int32_t slot) {
    const int32_t sequence = i / shape.heads, head = i % shape.heads;
    const kernels::AttentionShape of = shape.attention(s.batch.length(sequence), window);
    const int64_t begin = s.batch.begin(sequence);
    const float* qkv = s.qkv.data() + begin * of.qkv_width();  // (length, qkv width)
    float* out = s.mixed.data() + begin * shape.mixed();       // (length, mixed)
    std::byte* room = s.blocks[slot].attention.data();
    if (format == kernels::Format::kF32) {
      kernels.attention(of, head, qkv, terms, reinterpret_cast<float*>(room), out);
    } else {
      kernels.attention_i16(of, head, qkv, terms, room, out);
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
