#pragma once
// Every activation buffer of a forward pass, sized once for the largest batch, and a pool that
// lends them out.

#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "engine/batch.h"
#include "engine/model_config.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

struct Scratch {
  Scratch(const BertConfig& config, int32_t tokens_max);

  Buffer<float> x;          // (tokens, hidden): the residual stream, and the result
  Buffer<float> qkv;        // (tokens, 3, hidden)
  Buffer<float> mixed;      // (tokens, hidden): attention's output
  Buffer<float> projected;  // (tokens, hidden): what a product gives back to the residual stream
  Buffer<float> up;         // (tokens, intermediate)
  Buffer<float> attention;  // what the attention kernel asks for
  Batch batch;
  tokenizer::Encoding encoding;
};

/// Lends Scratch objects to threads; makes one when all are out, so it holds as many as ever ran at
/// once.
class ScratchPool {
 public:
  ScratchPool(const BertConfig& config, int32_t tokens_max)
      : config_(config), tokens_max_(tokens_max) {}

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
  Lease borrow();

 private:
  void give_back(std::unique_ptr<Scratch> scratch);

  const BertConfig config_;
  const int32_t tokens_max_;
  std::mutex mutex_;  // guards idle_
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace signalbox::engine
