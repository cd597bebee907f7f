#pragma once
// The last stage: truncation, then special tokens around the text by a template, as the
// post-processors of tokenizer.json describe it.

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
  uint8_t later_type_id;  // of a text in its windows behind the first
};
using Template = std::vector<TemplatePiece>;

/// What is done to a single text and to a pair.
struct Templates {
  Template single;  // holds kFirst once and no kSecond
  Template pair;    // holds both once
};

/// One text as the models gave it.
struct TokenizedText {
  std::string_view text;
  std::span<const Token> tokens;
  std::span<const Spaces> spaces;  // (tokens); none where nothing is trimmed
  size_t tokens_counted;           // as many of them decide which text of a pair is the longer
};

/// Immutable; thread-safe.
class Postprocessor {
 public:
  struct Options {
    Templates full;
    Templates plain;          // without special tokens
    std::vector<bool> trims;  // one for each time that offsets are trimmed: add_prefix_space
  };
  explicit Postprocessor(Options options) : options_(std::move(options)) {}

  /// Whether a TokenizedText needs `spaces`.
  bool trims() const { return !options_.trims.empty(); }

  /// How many tokens of a text are of use: encoding stops after the word that reaches them.
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
    bool is_later;  // behind the first
  };
  const Templates& templates(const EncodeOptions& options) const;
  Window window(const TokenizedText& text, const Windows& windows, size_t i) const;
  void assemble(const Template& form, const Window& first, const Window& second,
                const EncodeOptions& options, Encoding& out) const;
  void append(const Window& window, const TemplatePiece& piece, Encoding& out) const;

  Options options_;
};

}  // namespace signalbox::tokenizer
