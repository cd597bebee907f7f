#pragma once
// A buffer whose last element is directly before an unmapped page, so that a kernel that accesses
// one element too many crashes.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/error.h"

namespace signalbox::kernels {

template <class T>
class Guarded {
 public:
  explicit Guarded(size_t size) : size_(size) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = (size * sizeof(T) + page - 1) / page * page + page;
    base_ = static_cast<std::byte*>(
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    SIGNALBOX_CHECK(base_ != MAP_FAILED);
    SIGNALBOX_CHECK(::mprotect(base_ + bytes_ - page, page, PROT_NONE) == 0);
    data_ = reinterpret_cast<T*>(base_ + bytes_ - page - size * sizeof(T));
  }
  explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) {
    std::ranges::copy(values, data_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { ::munmap(base_, bytes_); }

  T* data() { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  std::byte* base_;
  size_t bytes_;
  T* data_;
  size_t size_;
};

}  // namespace signalbox::kernels
