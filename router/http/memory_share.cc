// A raise that does not fit leaves no trace in the total, so that it never refuses another request.

#include "router/http/memory_share.h"

#include <utility>

namespace signalbox::http {

bool MemoryBound::take(uint64_t bytes) {
  uint64_t held = held_.load(std::memory_order_relaxed);
  do {
    if (bytes > most_ || held > most_ - bytes) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } while (!held_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
  return true;
}

bool MemoryShare::set(uint64_t bytes) {
  if (bound_ != nullptr && bytes > bytes_ && !bound_->take(bytes - bytes_)) return false;
  if (bound_ != nullptr && bytes < bytes_) bound_->give(bytes_ - bytes);
  bytes_ = bytes;
  return true;
}

MemoryShare MemoryShare::beside() const {
  MemoryShare out;
  out.bound_ = bound_;
  return out;
}

void MemoryShare::swap(MemoryShare& other) noexcept {
  std::swap(bound_, other.bound_);
  std::swap(bytes_, other.bytes_);
}

}  // namespace signalbox::http
