// Three stages (decompose, order, compose) pass single code points on; none holds them beyond the
// next starter. In a run of stable characters only the last passes through the stages, because
// marks may follow it. The others are copied.

#include "tokenizer/normalize/normal_form.h"

#include <bitset>
#include <optional>
#include <vector>

#include "tokenizer/normalize/canonical_order.h"
#include "tokenizer/unicode/unicode.h"

namespace signalbox::tokenizer {
namespace {

// Composes a starter with the following code points where a composite exists.
class Composer {
 public:
  template <class Put>
  void add(const Piece& piece, const Put& put) {
    if (!starter_) {
      if (piece.combining_class != 0) return put(piece);
      starter_ = piece;
      return;
    }
    // A mark is blocked by a preceding mark of the same or a higher class.
    const bool in_reach = marks_.empty() || marks_.back().combining_class < piece.combining_class;
    if (in_reach) {
      if (const char32_t c = unicode::compose(starter_->code_point, piece.code_point)) {
        starter_ = Piece{c, 0, starter_->replaced + piece.replaced};
        return;
      }
    }
    if (piece.combining_class != 0) {
      marks_.push_back(piece);
      return;
    }
    flush(put);
    starter_ = piece;
  }

  template <class Put>
  void flush(const Put& put) {
    if (starter_) put(*starter_);
    starter_.reset();
    for (const Piece& mark : marks_) put(mark);
    forget(marks_);
  }

 private:
  std::optional<Piece> starter_;
  std::vector<Piece> marks_;  // marks after the starter that did not compose
};

unicode::Expansion decompose(char32_t c, bool compatible) {
  return compatible ? unicode::decompose_compatible(c) : unicode::decompose(c);
}

bool is(const unicode::Expansion& parts, char32_t c) {
  return parts.size == 1 && parts.code_points[0] == c;
}

// Returns true if the parts compose to the code point again.
bool recomposes(const unicode::Expansion& parts, char32_t c) {
  char32_t composed = parts.code_points[0];
  for (uint32_t i = 1; i < parts.size && composed != 0; ++i) {
    composed = unicode::compose(composed, parts.code_points[i]);
  }
  return composed == c;
}

// Finds the code points that can compose with a preceding one: the last parts of recomposable
// decompositions.
StableSet find_seconds() {
  std::bitset<StableSet::kSize> found;
  for (char32_t c = 0; c < found.size(); ++c) {
    const unicode::Expansion parts = unicode::decompose(c);
    if (parts.size > 1 && recomposes(parts, c)) found[parts.code_points[parts.size - 1]] = true;
  }
  return StableSet([&](char32_t c) { return found[c]; });
}

bool is_second(char32_t c) {
  static const StableSet seconds = find_seconds();
  return seconds.has(c);
}

bool is_stable(char32_t c, NormalForm::Kind kind) {
  if (unicode::combining_class(c) != 0) return false;
  const unicode::Expansion parts = decompose(c, kind.compatible);
  if (!kind.composed) return is(parts, c);
  return !is_second(c) && (is(parts, c) || recomposes(parts, c));
}

bool is_inert(char32_t c, NormalForm::Kind kind) {
  if (unicode::combining_class(c) == 0) return false;
  return is(decompose(c, kind.compatible), c) && !(kind.composed && is_second(c));
}

}  // namespace

struct NormalForm::Work {
  CanonicalOrder order;
  Composer composer;
  Places places;
};

NormalForm::NormalForm(Kind kind)
    : kind_(kind),
      stable_([kind](char32_t c) { return is_stable(c, kind); }),
      inert_([kind](char32_t c) { return is_inert(c, kind); }) {}

bool NormalForm::keeps(std::string_view text) const {
  uint8_t last_class = 0;
  for (size_t at = 0;;) {
    const size_t other = stable_.find_other(text, at);
    if (other == text.size()) return true;
    if (other > at) last_class = 0;
    const utf8::Decoded mark = utf8::decode(text, other);
    if (!inert_.has(mark.code_point)) return false;
    const uint8_t combining_class = unicode::combining_class(mark.code_point);
    if (combining_class < last_class) return false;
    last_class = combining_class;
    at = other + mark.bytes;
  }
}

void NormalForm::normalize(const TextView& in, Normalized& out) const {
  static thread_local Work work;  // empty between calls; keeps its capacity
  const std::string_view text = in.text();
  for (uint32_t i = 0; i < text.size();) {
    const auto end = static_cast<uint32_t>(stable_.find_other(text, i));
    if (end > i) {
      const uint32_t last = last_code_point(text, end);
      if (last > i) flush(work, out);
      in.copy_to(out, {i, last});
      i = last;
    }
    const utf8::Decoded decoded = utf8::decode(text, i);
    expand(decoded.code_point, in.source(i, decoded.bytes), work, out);
    i += decoded.bytes;
  }
  flush(work, out);
}

void NormalForm::expand(char32_t c, Span from, Work& work, Normalized& out) const {
  work.places.add(from);
  const unicode::Expansion parts = decompose(c, kind_.compatible);
  for (uint32_t i = 0; i < parts.size; ++i) {
    const char32_t part = parts.code_points[i];
    work.order.add({part, unicode::combining_class(part), i == 0 ? 1u : 0u},
                   [&](const Piece& piece) { put_ordered(piece, work, out); });
  }
}

void NormalForm::flush(Work& work, Normalized& out) const {
  work.order.flush([&](const Piece& piece) { put_ordered(piece, work, out); });
  work.composer.flush([&](const Piece& piece) { put(piece, work, out); });
}

void NormalForm::put_ordered(const Piece& piece, Work& work, Normalized& out) const {
  if (!kind_.composed) return put(piece, work, out);
  work.composer.add(piece, [&](const Piece& composed) { put(composed, work, out); });
}

void NormalForm::put(const Piece& piece, Work& work, Normalized& out) {
  out.append(piece.code_point, work.places.take(piece.replaced));
}

}  // namespace signalbox::tokenizer
