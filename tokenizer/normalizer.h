#pragma once
// One step of the `normalizer` of a tokenizer.json: converts text to text and keeps the origin of
// every byte. Sequences are flattened when the file is read; the pipeline runs the steps in order.

#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

/// True for ASCII except spaces and controls. A text may be split at a lone space that has such
/// characters on both sides.
inline bool is_ascii_mark(char c) {
  return c > ' ' && c < 0x7F;
}

/// Immutable; thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  /// Returns true if normalize() would not change this text. The check is cheap and may return
  /// false for a text that would not change, but never the reverse.
  virtual bool keeps(std::string_view text) const = 0;

  /// Appends the normalised form of `in` to `out`. They must not overlap.
  virtual void normalize(const TextView& in, Normalized& out) const = 0;

  /// Returns true if a text may be split before a lone space, that is between "x" and " y" where x
  /// and y are ASCII and not spaces, and the parts normalised separately with the same result.
  virtual bool is_local() const { return false; }
  /// is_local() for one text, depending on its beginning. The text may contain any bytes.
  virtual bool is_local_in(std::string_view) const { return is_local(); }

  /// The maximum factor by which the configured step can lengthen a text, in bytes. Unicode
  /// mappings are not counted: they happen once and lengthen at most twelvefold.
  virtual size_t growth() const { return 1; }

  /// Returns true if a lone space is replaced by U+2581; otherwise it stays a space.
  virtual bool marks_spaces() const { return false; }
};

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

}  // namespace signalbox::tokenizer
