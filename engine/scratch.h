#pragma once
// Every activation buffer of a forward pass, and a pool that lends them out. What a row of a
// product needs besides itself is worked through in blocks of tokens, so a long text takes five
// rows of the hidden width a token and no more.

#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "engine/adapter.h"
#include "engine/batch.h"
#include "engine/linear.h"
#include "engine/parallel.h"
#include "engine/rope.h"
#include "engine/trunk.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// Tokens that go through a feed-forward layer together, at most: enough to pay for reading the
/// weights, few enough for their activations to stay in a second-level cache.
inline constexpr int32_t kBlockTokens = 384;

/// Tokens of one forward pass: small texts share it, longer ones run alone.
inline constexpr int32_t kBatchTokens = 512;

/// What one thread needs for a block of tokens.
struct BlockScratch {
  Buffer<float> normed;         // (kBlockTokens, hidden): what a layer's half begins with
  Buffer<float> up;             // (kBlockTokens, wide)
  Operands operands;            // (kBlockTokens, the wider of hidden and wide)
  Buffer<std::byte> attention;  // what the attention kernel asks for
  LowRankScratch low_rank;      // (kBlockTokens), when a sequence has an adapter
};

struct Scratch {
  /// Makes room for `batch` and `threads`; what the buffers held is lost when they grow. They never
  /// shrink.
  void reserve(const TrunkShape& shape, int32_t threads);

  Batch batch;
  Buffer<float> x;                     // (tokens, hidden): the residual stream, and the result
  Buffer<float> qkv;                   // (tokens, 3, hidden)
  Buffer<float> mixed;                 // (tokens, hidden): attention's output
  std::vector<BlockScratch> blocks;    // (threads)
  RopeTables global_rope, local_rope;  // of the batch
  std::vector<tokenizer::Encoding> encodings;  // (sequences, or more): of the batch's texts
};

/// Calls step(begin, rows, block) for each block of `tokens`, as many at once as there are workers.
template <class Step>
void for_blocks(Scratch& scratch, Workers& workers, int32_t tokens, const Step& step) {
  const int32_t least = kBlockTokens * workers.threads();
  const int32_t rounds = (tokens + least - 1) / least;
  const int32_t blocks = std::max(1, std::min(tokens, rounds * workers.threads()));
  const int32_t rows = (tokens + blocks - 1) / blocks;
  workers.for_each((tokens + rows - 1) / rows, [&](int32_t i, int32_t slot) {
    const int32_t begin = i * rows;
    step(int64_t{begin}, std::min(rows, tokens - begin), scratch.blocks[slot]);
  });
}

/// y = finish(x w^T + bias), with what adapters add, for rows [begin, begin + rows) of the batch:
/// x (rows, in), y (rows, out) or half as wide behind a gate.
inline void multiply(const Linear& layer, const kernels::Table& kernels, const Batch& batch,
                     int64_t begin, int32_t rows, const float* x, kernels::Finish finish,
                     BlockScratch& block, float* y) {
  layer.apply(kernels, rows, x, finish, block.operands, y,
              reduce_rows(layer, kernels, batch, begin, rows, x, block.low_rank));
}

/// Attention of every head of every sequence of the batch: qkv to mixed. In integers where
/// the layer's matrices are in fewer bits than 32; `window` as AttentionShape has it.
void attend(const kernels::Table& kernels, kernels::Format format, const TrunkShape& shape,
            int32_t window, Scratch& scratch, Workers& workers);

/// Lends Scratch objects to threads; makes one when all are out, so it holds as many as ever ran at
/// once.
class ScratchPool {
 public:
  /// Returns itself to the pool on destruction; the pool outlives it.
  class Lease {
   public:
    Lease(ScratchPool& pool, std::unique_ptr<Scratch> scratch)
        : pool_(&pool), scratch_(std::move(scratch)) {}
    Lease(Lease&&) = default;
    ~Lease() {
      if (scratch_ != nullptr) pool_->give_back(std::move(scratch_));
    }
    Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    ScratchPool* pool_;
    std::unique_ptr<Scratch> scratch_;
  };
  /// Its batch is empty.
  Lease borrow();

 private:
  void give_back(std::unique_ptr<Scratch> scratch);

  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace signalbox::engine
