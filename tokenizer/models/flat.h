#pragma once
// An array of plain values, either filled here or read in place from a mapped file.

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "base/buffer.h"

namespace signalbox::tokenizer {

/// Owns its values (in huge pages if large), or borrows memory that must outlive it.
template <class T>
class Flat {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using Owned = std::vector<T, AlignedAllocator<T>>;

  Flat() = default;
  explicit Flat(std::span<const T> borrowed) : borrowed_(borrowed) {}
  explicit Flat(Owned owned) : owned_(std::move(owned)) {}

  /// For filling. Must not be borrowed.
  Owned& own() { return owned_; }

  const T* data() const { return borrowed_.data() != nullptr ? borrowed_.data() : owned_.data(); }
  size_t size() const { return borrowed_.data() != nullptr ? borrowed_.size() : owned_.size(); }
  const T& operator[](size_t i) const { return data()[i]; }
  std::span<const T> span() const { return {data(), size()}; }

 private:
  Owned owned_;
  std::span<const T> borrowed_;
};

}  // namespace signalbox::tokenizer
