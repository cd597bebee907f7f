#pragma once
// What the normal forms share: combining marks in canonical order, and where the result comes from.
// The reference aligns by position, not by character: a code point of the result that replaces n
// code points of the text takes the place of the next n, whichever they are, even where sorting has
// swapped them; one that a decomposition added takes the place of what was replaced last.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace signalbox::tokenizer {

/// Empties what a thread keeps between calls, and gives back what a hostile text has taken.
template <class T>
void forget(std::vector<T>& kept) {
  constexpr size_t kItemsKept = 4096;
  kept.clear();
  if (kept.capacity() > kItemsKept) kept.shrink_to_fit();
}

/// A code point on its way into a normal form.
struct Piece {
  char32_t code_point;
  uint8_t combining_class;
  uint32_t replaced;  // how many code points of the text; 0: a decomposition added it
};

/// The sources of the code points that were read and are not yet replaced, in text order.
class Places {
 public:
  void add(Span source) { sources_.push_back(source); }

  /// The place of a piece. Precondition: so many wait, and the first piece of all replaces some.
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

/// Holds marks back until the starter behind them.
class CanonicalOrder {
 public:
  /// Calls put(piece) for what is ready, in canonical order.
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
    // Sorting allocates, and most runs are in order.
    if (std::is_sorted(marks_.begin(), marks_.end(), before)) return;
    std::stable_sort(marks_.begin(), marks_.end(), before);
  }

  std::vector<Piece> marks_;
};

}  // namespace signalbox::tokenizer
