#pragma once
// Every activation buffer of a forward pass, and a pool that lends them out. What a row of a
// product needs besides itself is worked through in blocks of tokens, so a long text takes five
// rows of the hidden width a token and no more.

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "engine/batch.h"
#include "engine/rope.h"
#include "engine/trunk.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// Tokens that go through a feed-forward layer together: enough to pay for reading the weights.
inline constexpr int32_t kBlockTokens = 384;

/// Tokens of one forward pass: small texts share it, longer ones run alone.
inline constexpr int32_t kBatchTokens = 512;

struct Scratch {
  /// Makes room for `batch`; what the buffers held is lost when they grow. They never shrink.
  void reserve(const TrunkShape& shape);

  Batch batch;
  Buffer<float> x;          // (tokens, hidden): the residual stream, and the result
  Buffer<float> qkv;        // (tokens, 3, hidden)
  Buffer<float> mixed;      // (tokens, hidden): attention's output
  Buffer<float> normed;     // (kBlockTokens, hidden): what a layer's half begins with
  Buffer<float> projected;  // (kBlockTokens, hidden): what it gives back to the residual stream
  Buffer<float> up;         // (kBlockTokens, wide)
  Buffer<float> attention;  // what the attention kernel asks for
  std::array<Rotations, 2> rotations;          // of global and of local layers
  std::vector<tokenizer::Encoding> encodings;  // (sequences, or more): of the batch's texts
};

/// Calls step(begin, rows) for each block of tokens.
template <class Step>
void for_blocks(int32_t tokens, const Step& step) {
  for (int32_t begin = 0; begin < tokens; begin += kBlockTokens) {
    step(int64_t{begin}, std::min(kBlockTokens, tokens - begin));
  }
}

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
