#pragma once
// The vectors of one partition with 8 bits for each value, in slots 0 to size - 1 without gaps.
// Blocks grow with their number and never move, so that a partition of one row is small and adding
// a row never copies the others.
//
// A row consists of its integers and the inverse of their length. So a cosine is an integer dot
// product times two factors, and the cosine of a row with itself is 1.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "kernels/kernels.h"
#include "router/vector_index/snapshot.h"

namespace signalbox::vector_index {

using Slot = uint32_t;
inline constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();

/// Items of `width` values each, in blocks of 4, 4, 8, 16 ... 8,192, then 16,384 items.
template <class T>
class BlockArray {
 public:
  explicit BlockArray(size_t width) : width_(width) {}

  T* operator[](size_t i) { return const_cast<T*>(std::as_const(*this)[i]); }
  const T* operator[](size_t i) const {
    if (i >= kLargest) {
      return blocks_[kSmallBlocks + i / kLargest - 1].data() + i % kLargest * width_;
    }
    const size_t block = std::bit_width(i / kFirst);
    return blocks_[block].data() + (block == 0 ? i : i - items_before(block)) * width_;
  }

  /// Values of new items are uninitialised. When items are removed, one empty block stays.
  void resize(size_t items) {
    while (items_before(blocks_.size()) < items) blocks_.emplace_back(block_items() * width_);
    while (blocks_.size() > 1 && items_before(blocks_.size() - 2) >= items &&
           items_before(blocks_.size() - 1) > items) {
      blocks_.pop_back();
    }
  }
  size_t bytes() const {
    return items_before(blocks_.size()) * width_ * sizeof(T) +
           blocks_.capacity() * sizeof(Buffer<T>);
  }

 private:
  static constexpr size_t kFirst = 4;
  static constexpr size_t kLargest = 16'384;
  static constexpr size_t kSmallBlocks = std::bit_width(kLargest / kFirst);

  static size_t items_before(size_t block) {
    if (block >= kSmallBlocks) return (block - kSmallBlocks + 1) * kLargest;
    return block == 0 ? 0 : kFirst << (block - 1);
  }
  size_t block_items() const {
    return items_before(blocks_.size() + 1) - items_before(blocks_.size());
  }

  size_t width_;
  std::vector<Buffer<T>> blocks_;
};

/// A query vector: codes as quantize_rows() writes them, and the inverse of the length of its
/// integers.
struct Point {
  const uint8_t* codes;
  float inverse;
};

class VectorRows {
 public:
  VectorRows(const kernels::Table& table, int32_t dim)
      : table_(&table),
        dim_(dim),
        stride_(static_cast<size_t>(kernels::quantized_row_bytes(dim))),
        codes_(stride_),
        inverses_(1),
        ids_(1) {}

  Slot size() const { return size_; }
  uint64_t id(Slot slot) const { return *ids_[slot]; }
  Point point(Slot slot) const { return {codes_[slot], *inverses_[slot]}; }

  void push(uint64_t id, const Point& x) {
    const size_t slot = size_++;
    resize();
    std::memcpy(codes_[slot], x.codes, stride_);
    *inverses_[slot] = x.inverse;
    *ids_[slot] = id;
  }
  /// The inverse of the length of the integers; 0 if all are zero.
  static float inverse_of(const kernels::Table& table, int32_t dim, const uint8_t* codes) {
    int32_t squares;
    table.dots_i8(1, dim, codes, &codes, &squares);
    return squares == 0 ? 0 : 1 / std::sqrt(static_cast<float>(squares));
  }
  /// Copies slot `from` to slot `to`.
  void copy(Slot from, Slot to) {
    if (from == to) return;
    std::memcpy(codes_[to], codes_[from], stride_);
    *inverses_[to] = *inverses_[from];
    *ids_[to] = *ids_[from];
  }
  void pop() {
    std::memset(codes_[size_ - 1], 0, stride_);  // a vector reveals something about its text
    --size_;
    resize();
  }

  /// Writes the cosine of x with each slot to `cosines` (slots.size()).
  void cosines(const Point& x, std::span<const Slot> slots, float* cosines) const {
    constexpr size_t kMany = 64;
    const uint8_t* rows[kMany];
    int32_t sums[kMany];
    for (size_t from = 0; from < slots.size(); from += kMany) {
      const size_t n = std::min(kMany, slots.size() - from);
      for (size_t i = 0; i < n; ++i) rows[i] = codes_[slots[from + i]];
      table_->dots_i8(static_cast<int32_t>(n), dim_, x.codes, rows, sums);
      for (size_t i = 0; i < n; ++i) {
        cosines[from + i] = static_cast<float>(sums[i]) * (x.inverse * *inverses_[slots[from + i]]);
      }
    }
  }
  float cosine(const Point& x, Slot slot) const {
    float out;
    cosines(x, {&slot, 1}, &out);
    return out;
  }

  void write(SnapshotWriter& out) const;
  /// Precondition: there are no rows. Errors: kCorrupt.
  Result<void> read(SnapshotReader& in);

  size_t bytes() const { return codes_.bytes() + inverses_.bytes() + ids_.bytes(); }

 private:
  void resize() {
    codes_.resize(size_);
    inverses_.resize(size_);
    ids_.resize(size_);
  }

  const kernels::Table* table_;
  int32_t dim_;
  size_t stride_;
  Slot size_ = 0;
  BlockArray<uint8_t> codes_;   // (stride)
  BlockArray<float> inverses_;  // (1)
  BlockArray<uint64_t> ids_;    // (1)
};

}  // namespace signalbox::vector_index
