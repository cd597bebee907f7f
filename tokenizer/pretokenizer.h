#pragma once
// The `pre_tokenizer` of a tokenizer.json as a flat list of steps. A splitter divides words into
// shorter words without changing the text. A rewriter changes the text of each word; Metaspace, for
// example, replaces spaces by a mark. Metaspace is a rewriter followed by a splitter.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

/// The form of a lone space after the earlier stages: unchanged, or replaced by U+2581.
enum class SpaceForm : uint8_t { kSpace, kMark };
inline std::string_view text_of(SpaceForm form) {
  return form == SpaceForm::kSpace ? " " : "\u2581";
}

/// Immutable; thread-safe.
class Splitter {
 public:
  virtual ~Splitter() = default;

  /// Appends the parts of text[word] in order, as non-empty ranges of `text`. The text is valid
  /// UTF-8. Text outside the word has no effect.
  virtual void split(std::string_view text, Span word, std::vector<Span>& words) const = 0;

  /// Returns true if a text may be split before a lone space (see Normalizer::is_local) and the
  /// parts split separately with the same result, except for the additional boundary.
  virtual bool is_local(SpaceForm) const { return false; }
  /// Returns true if such a position is always a word boundary, so that no later stage sees both
  /// sides of it at once. Implies is_local().
  virtual bool cuts_at_spaces(SpaceForm) const { return false; }
};

/// Immutable; thread-safe.
class Rewriter {
 public:
  virtual ~Rewriter() = default;

  /// Appends the new text of each word to `out` and its range in `out` to `rewritten`. Words that
  /// become empty are dropped.
  virtual void rewrite(const TextView& in, std::span<const Span> words, Normalized& out,
                       std::vector<Span>& rewritten) const = 0;

  /// See Splitter::is_local.
  virtual bool is_local(SpaceForm) const { return false; }
  /// Returns the resulting form of a lone space. Requires is_local(form).
  virtual SpaceForm after(SpaceForm form) const { return form; }
};

struct PretokenizerStep {
  std::unique_ptr<const Splitter> splitter;  // exactly one of the two is set
  std::unique_ptr<const Rewriter> rewriter;
};

struct Pretokenizer {
  std::vector<PretokenizerStep> steps;
  /// Words go to the model as UTF-8 bytes, and the vocabulary is written in GPT-2's alphabet of
  /// visible bytes. Set by ByteLevel, which must be the last step.
  bool byte_level = false;
};

}  // namespace signalbox::tokenizer
