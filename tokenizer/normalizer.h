#pragma once
// One step of the `normalizer` of a tokenizer.json: text to text, with every byte's origin kept. A
// sequence of them is flattened when the file is read, and the pipeline runs the steps one after
// the other.

#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

/// What stands on both sides of a lone space, where a text may be cut: ASCII, no space, no control.
inline bool is_ascii_mark(char c) {
  return c > ' ' && c < 0x7F;
}

/// Immutable; thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  /// True when normalize() would change nothing in this text. A cheap look that may say false where
  /// the truth is true, never the reverse.
  virtual bool keeps(std::string_view text) const = 0;

  /// Appends the normal form of `in` to `out`, which does not overlap it.
  virtual void normalize(const TextView& in, Normalized& out) const = 0;

  /// Whether a text may be cut before a lone space, that is between "x" and " y" where x and y are
  /// ASCII and no spaces, and normalised part by part with the same result.
  virtual bool is_local() const { return false; }
  /// The same for one text, by how it begins. It may be any bytes.
  virtual bool is_local_in(std::string_view) const { return is_local(); }

  /// By how much it may lengthen a text, in bytes, where the file says so. What Unicode says is at
  /// most twelvefold and done once.
  virtual size_t growth() const { return 1; }

  /// Whether it puts U+2581 in the place of a lone space. Otherwise such a space stays.
  virtual bool marks_spaces() const { return false; }
};

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

}  // namespace signalbox::tokenizer
