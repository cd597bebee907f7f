#pragma once
// The activation buffers of a forward pass, and a pool that lends them out. The additional buffers
// for matrix products cover only a block of tokens, so a long text needs just five rows of hidden
// width per token.

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/adapter.h"
#include "engine/batch.h"
#include "engine/linear.h"
#include "engine/parallel.h"
#include "engine/rope.h"
#include "engine/trunk.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// Maximum tokens per block in a feed-forward layer: enough to amortise reading the weights, and
/// few enough that the activations stay in a second-level cache.
inline constexpr int32_t kBlockTokens = 384;

/// Tokens of one forward pass: small texts share a pass, longer ones run alone.
inline constexpr int32_t kBatchTokens = 512;

/// One thread's buffers for a block of tokens.
struct BlockScratch {
  Buffer<float> normed;         // (kBlockTokens, hidden): normalised input
  Buffer<float> up;             // (kBlockTokens, wide)
  Operands operands;            // (kBlockTokens, the widest of hidden, mixed and wide)
  Buffer<std::byte> attention;  // scratch of the attention kernel
  LowRankScratch low_rank;      // (kBlockTokens), if a sequence has an adapter
};

struct Scratch {
  /// Allocates for `batch` and `threads`. Buffers lose their contents when they grow; they never
  /// shrink.
  void reserve(const TrunkShape& shape, int32_t threads);

  /// Removes the other sequences from the batch, from x (tokens, hidden) and from `encodings`.
  /// `sequences` ascend.
  void keep(std::span<const int32_t> sequences, int32_t hidden);

  Batch batch;
  Buffer<float> x;                     // (tokens, hidden): the residual stream, and the result
  Buffer<float> qkv;                   // (tokens, shape.qkv()): queries, keys, values
  Buffer<float> mixed;                 // (tokens, shape.mixed()): attention's output
  Buffer<float> side;                  // (tokens, hidden) if shape.has_side
  std::vector<BlockScratch> blocks;    // (threads)
  RopeTables global_rope, local_rope;  // tables for the batch
  std::vector<tokenizer::Encoding> encodings;  // (sequences, or more): encodings of the batch's
                                               // texts
};

/// kCorrupt with the model's directory and the name of the values if one of them is not finite.
Result<void> check_finite(const std::filesystem::path& model, std::span<const float> values,
                          std::string_view name);

/// Calls step(begin, rows, block) for each block of `tokens`, in parallel on the workers.
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

/// y = finish(x w^T + bias) plus the adapters' contributions, for rows [begin, begin + rows) of the
/// batch: x (rows, in), y (rows, out) or half as wide with a gate.
inline void multiply(const Linear& layer, const kernels::Table& kernels, const Batch& batch,
                     int64_t begin, int32_t rows, const float* x, kernels::Finish finish,
                     BlockScratch& block, float* y) {
  layer.apply(kernels, rows, x, finish, block.operands, y,
              reduce_rows(layer, kernels, batch, begin, rows, x, block.low_rank));
}

/// Rotates the queries and keys of rows [begin, begin + rows) by their positions in their texts:
/// qkv (rows, shape.qkv()).
void rotate(const kernels::Table& kernels, const TrunkShape& shape, const RopeTables& rope,
            const Batch& batch, int64_t begin, int32_t rows, float* qkv);

/// Computes attention from qkv to mixed, for every head of every sequence of the batch. It uses
/// integers if the layer's matrices have fewer than 32 bits. `window`: see AttentionShape. `terms`
/// are added to the scores, or nullptr.
void attend(const kernels::Table& kernels, kernels::Format format, const TrunkShape& shape,
            int32_t window, Scratch& scratch, Workers& workers,
            const kernels::DistanceTerms* terms = nullptr);

/// Lends Scratch objects to threads and creates one if all are in use. It therefore holds as many
/// as were ever used concurrently.
class ScratchPool {
 public:
  /// Returns its Scratch to the pool on destruction. The pool must outlive it.
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
  /// The batch of the returned Scratch is empty.
  Lease borrow();

 private:
  void give_back(std::unique_ptr<Scratch> scratch);

  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace signalbox::engine
