// Allocates aligned memory and requests huge pages for large blocks.

#include "base/buffer.h"

#include <sys/mman.h>

#include <new>

namespace signalbox {
namespace {

constexpr size_t kCacheLine = 64;  // also the width of the widest vector register in use
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void* allocate_aligned(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // This is only advice: a system without huge pages uses small ones.
  if (alignment == kHugePage) ::madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

}  // namespace signalbox
