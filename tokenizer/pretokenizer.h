#pragma once
// The `pre_tokenizer` of a tokenizer.json as a flat list of steps. A splitter cuts words into
// shorter words and leaves the text alone. A rewriter changes the text of each word, as Metaspace
// does when it puts a mark in the place of spaces. Metaspace is a rewriter and then a splitter.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

/// What the stages before have made of a lone space: nothing, or U+2581 in its place.
enum class SpaceForm : uint8_t { kSpace, kMark };
inline std::string_view text_of(SpaceForm form) {
  return form == SpaceForm::kSpace ? " " : "\u2581";
}

/// Immutable; thread-safe.
class Splitter {
 public:
  virtual ~Splitter() = default;

  /// Appends the parts of text[word], ranges of `text` that are not empty, in order. `text` is
  /// valid UTF-8, and nothing outside the word is looked at.
  virtual void split(std::string_view text, Span word, std::vector<Span>& words) const = 0;

  /// Whether a text may be cut before a lone space (see Normalizer::is_local) and split part by
  /// part with the same result, but for the cut.
  virtual bool is_local(SpaceForm) const { return false; }
  /// Whether such a place always lies between two words, or in front of one, so that no later stage
  /// sees both sides of it at once. Implies is_local().
  virtual bool cuts_at_spaces(SpaceForm) const { return false; }
};

/// Immutable; thread-safe.
class Rewriter {
 public:
  virtual ~Rewriter() = default;

  /// Appends the new text of each of `words` to `out` and its range there to `rewritten`. Words
  /// that become empty are left out.
  virtual void rewrite(const TextView& in, std::span<const Span> words, Normalized& out,
                       std::vector<Span>& rewritten) const = 0;

  /// As Splitter::is_local.
  virtual bool is_local(SpaceForm) const { return false; }
  /// What it makes of a lone space. Precondition: is_local(form).
  virtual SpaceForm after(SpaceForm form) const { return form; }
};

struct PretokenizerStep {
  std::unique_ptr<const Splitter> splitter;  // one of the two
  std::unique_ptr<const Rewriter> rewriter;
};

struct Pretokenizer {
  std::vector<PretokenizerStep> steps;
  /// Words go to the model as their UTF-8 bytes, and the pieces of its vocabulary are written in
  /// GPT-2's alphabet of visible bytes. ByteLevel, which says so, is the last step.
  bool byte_level = false;
};

}  // namespace signalbox::tokenizer
