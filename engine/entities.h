#pragma once
// Labels of tokens to spans of the text.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// Understands the labels of a token head: "O" is outside; "B-PERSON" begins, "I-PERSON" goes on,
/// "E-PERSON" (or "L-") ends and "S-PERSON" (or "U-") is whole; a label without a prefix goes on
/// like "I-".
class EntityReader {
 public:
  explicit EntityReader(std::span<const std::string> labels);

  /// probabilities (tokens, labels) for the tokens of `encoding`, of which `tokens` are those of
  /// the text. Each token has its likeliest label; the pieces of one word, in scripts that write
  /// spaces between words, have one type, that which is likeliest for all of them. A token that
  /// goes on where nothing of its type is open begins: a model that misses a beginning has still
  /// found something.
  std::vector<Entity> read(std::string_view text, const tokenizer::Encoding& encoding,
                           tokenizer::Span tokens, std::span<const float> probabilities) const;

 private:
  struct Tag {
    char place;        // 'O', 'B', 'I', 'E' or 'S'
    std::string type;  // "" for 'O'
  };
  static Tag tag_of(std::string_view label);
  size_t likeliest(std::span<const float> row, const std::string_view* type) const;
  std::string_view type_of_word(std::span<const float> rows) const;

  std::vector<Tag> tags_;  // (labels)
};

}  // namespace signalbox::engine
