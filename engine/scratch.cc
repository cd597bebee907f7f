// Sizes, and a stack of idle scratches under a lock that is held for a push or a pop.

#include "engine/scratch.h"

#include "kernels/kernels.h"

namespace signalbox::engine {

Scratch::Scratch(const BertConfig& config, int32_t tokens_max)
    : x(int64_t{tokens_max} * config.hidden),
      qkv(int64_t{tokens_max} * 3 * config.hidden),
      mixed(int64_t{tokens_max} * config.hidden),
      projected(int64_t{tokens_max} * config.hidden),
      up(int64_t{tokens_max} * config.intermediate),
      attention(kernels::attention_scratch(
          {std::min(tokens_max, config.positions), config.heads, config.head_dim()})) {
  batch.ids.reserve(tokens_max);
  batch.starts.reserve(tokens_max + 1);
}

ScratchPool::Lease ScratchPool::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Scratch> scratch = std::move(idle_.back());
      idle_.pop_back();
      return {*this, std::move(scratch)};
    }
  }
  return {*this, std::make_unique<Scratch>(config_, tokens_max_)};
}

void ScratchPool::give_back(std::unique_ptr<Scratch> scratch) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scratch));
}

}  // namespace signalbox::engine
