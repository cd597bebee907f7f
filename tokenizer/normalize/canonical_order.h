#pragma once
// Shared by the normal forms: canonical order of combining marks, and alignment with the source.
// The reference aligns by position, not by character. A code point of the result that replaces n
// code points takes the position of the next n, even where sorting has swapped them. A code point
// added by a decomposition takes the position of the last replaced one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// Clears a per-thread vector between calls, and releases its memory if an unusual text made it
/// large.
template <class T>
void forget(std::vector<T>& kept) {
  constexpr size_t kItemsKept = 4096;
  kept.clear();
  if (kept.capacity() > kItemsKept) kept.shrink_to_fit();
}

/// A code point being processed into a normal form.
struct Piece {
  char32_t code_point;
  uint8_t combining_class;
  uint32_t replaced;  // number of source code points; 0: added by a decomposition
};

/// The sources of code points that were read and not yet replaced, in text order.
class Places {
 public:
  void add(Span source) { sources_.push_back(source); }

  /// Returns the position of a piece. Requires that `replaced` sources are waiting, and that the
  /// first piece of all replaces at least one.
  Span take(uint32_t replaced) {
    if (replaced == 0) return last_;
    const Span place = sources_[next_];
    next_ += replaced;
    last_ = sources_[next_ - 1];
    if (next_ == sources_.size()) {
      forget(sources_);
      next_ = 0;
    }
    return place;
  }

 private:
  std::vector<Span> sources_;
  size_t next_ = 0;
  Span last_;
};

/// Holds marks back until the next starter.
class CanonicalOrder {
 public:
  /// Calls put(piece) for all completed pieces, in canonical order.
  template <class Put>
  void add(const Piece& piece, const Put& put) {
    if (piece.combining_class != 0) {
      marks_.push_back(piece);
      return;
    }
    flush(put);
    put(piece);
  }

  template <class Put>
  void flush(const Put& put) {
    if (marks_.empty()) return;
    sort();
    for (const Piece& mark : marks_) put(mark);
    forget(marks_);
  }

 private:
  void sort() {
    const auto before = [](const Piece& a, const Piece& b) {
      return a.combining_class < b.combining_class;
    };
    // Sorting allocates memory, and most runs are already in order.
    if (std::is_sorted(marks_.begin(), marks_.end(), before)) return;
    std::stable_sort(marks_.begin(), marks_.end(), before);
  }

  std::vector<Piece> marks_;
};

}  // namespace signalbox::tokenizer
