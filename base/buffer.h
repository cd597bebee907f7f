#pragma once
// Memory for kernels. It is aligned to a cache line, has a fixed size and is never initialised
// implicitly.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace signalbox {

/// Returns at least `bytes` of memory, aligned to a cache line; release it with std::free. Blocks
/// of two megabytes or more request huge pages, because address translation limits sequential reads
/// of weights otherwise (3 to 7 GB/s instead of 14 in a virtual machine).
void* allocate_aligned(size_t bytes);

/// Owns `size` elements of a trivial type, uninitialised. Move-only.
template <class T>
class Buffer {
  static_assert(std::is_trivial_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(size_t size) : size_(size) {
    if (size == 0) return;
    data_.reset(static_cast<T*>(allocate_aligned(size * sizeof(T))));
    SIGNALBOX_CHECK(data_ != nullptr);
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }
  std::span<T> span() { return {data_.get(), size_}; }
  std::span<const T> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  size_t size_ = 0;
};

/// Blocks of memory that are released together. Each is aligned to a cache line. They come from
/// chunks large enough for huge pages.
class Arena {
 public:
  std::span<std::byte> take(size_t bytes) {
    const size_t size = (bytes + 63) / 64 * 64;
    if (chunks_.empty() || chunks_.back().size() - used_ < size) {
      chunks_.emplace_back(std::max(size, kChunkBytes));
      used_ = 0;
    }
    const auto out = chunks_.back().span().subspan(used_, bytes);
    used_ += size;
    return out;
  }

 private:
  static constexpr size_t kChunkBytes = size_t{8} << 20;

  std::vector<Buffer<std::byte>> chunks_;
  size_t used_ = 0;  // bytes used in the last chunk
};

/// Uses allocate_aligned() for containers.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t size) { return static_cast<T*>(allocate_aligned(size * sizeof(T))); }
  void deallocate(T* p, size_t) { std::free(p); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

}  // namespace signalbox
