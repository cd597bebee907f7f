#pragma once
// The last stage: truncation, then special tokens around the text by a template, as
// TemplateProcessing and BertProcessing of tokenizer.json describe it.

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/normalized.h"

namespace signalbox::tokenizer {

struct TemplatePiece {
  enum class Kind : uint8_t { kFirst, kSecond, kSpecial };
  Kind kind;
  uint8_t type_id;
  int32_t id;  // of a special token
};
using Template = std::vector<TemplatePiece>;

/// Immutable; thread-safe.
class Postprocessor {
 public:
  /// Precondition: `single` holds kFirst once and no kSecond; `pair` holds both once.
  Postprocessor(Template single, Template pair);

  /// How many tokens of a text are of use: encoding stops after the word that reaches them.
  size_t single_room(const EncodeOptions& options) const { return room(single_, options); }

  void single(std::span<const Token> text, const EncodeOptions& options, Encoding& out) const;

  /// The longer text is cut first, then both alike ("longest first"); of an odd rest the longer has
  /// one more.
  void pair(std::span<const Token> first, std::span<const Token> second,
            const EncodeOptions& options, Encoding& out) const;

 private:
  static size_t room(const Template& form, const EncodeOptions& options);
  static void assemble(const Template& form, std::span<const Token> first,
                       std::span<const Token> second, const EncodeOptions& options, Encoding& out);

  Template single_;
  Template pair_;
};

}  // namespace signalbox::tokenizer
