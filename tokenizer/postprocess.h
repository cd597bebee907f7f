#pragma once
// The last stage: truncation, then special tokens around the text according to a template from the
// post-processor of tokenizer.json.

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/normalized.h"
#include "tokenizer/trim.h"
#include "tokenizer/truncation.h"

namespace signalbox::tokenizer {

struct TemplatePiece {
  enum class Kind : uint8_t { kFirst, kSecond, kSpecial };
  Kind kind;
  uint8_t type_id;
  int32_t id;             // of a special token
  uint8_t later_type_id;  // for a text in its windows after the first
};
using Template = std::vector<TemplatePiece>;

/// The templates for a single text and for a pair.
struct Templates {
  Template single;  // contains kFirst once and no kSecond
  Template pair;    // contains both once
};

/// The tokens of one text.
struct TokenizedText {
  std::string_view text;
  std::span<const Token> tokens;
  std::span<const Spaces> spaces;  // (tokens); empty if nothing is trimmed
  size_t tokens_counted;           // the token count used to determine which text of a pair is
                                   // longer
};

/// Immutable; thread-safe.
class Postprocessor {
 public:
  struct Options {
    Templates full;
    Templates plain;          // without special tokens
    std::vector<bool> trims;  // one entry per trim of the offsets: its add_prefix_space
  };
  explicit Postprocessor(Options options) : options_(std::move(options)) {}

  /// Returns true if a TokenizedText needs `spaces`.
  bool trims() const { return !options_.trims.empty(); }

  /// Returns the number of types. Every type id of a template is below it.
  int32_t types() const;

  /// Returns how many tokens of a text are needed. Encoding stops after the word that reaches this
  /// count.
  size_t single_room(const EncodeOptions& options) const;

  void single(const TokenizedText& text, const EncodeOptions& options, Encoding& out) const;
  void pair(const TokenizedText& first, const TokenizedText& second, const EncodeOptions& options,
            Encoding& out) const;

  void single_windows(const TokenizedText& text, const EncodeOptions& options,
                      const TakeWindow& take) const;
  void pair_windows(const TokenizedText& first, const TokenizedText& second,
                    const EncodeOptions& options, const TakeWindow& take) const;

 private:
  struct Window {
    const TokenizedText* text;
    Span tokens;
    bool is_later;  // any window except the first
  };
  const Templates& templates(const EncodeOptions& options) const;
  Window window(const TokenizedText& text, const Windows& windows, size_t i) const;
  void assemble(const Template& form, const Window& first, const Window& second,
                const EncodeOptions& options, Encoding& out) const;
  void append(const Window& window, const TemplatePiece& piece, Encoding& out) const;

  Options options_;
};

}  // namespace signalbox::tokenizer
