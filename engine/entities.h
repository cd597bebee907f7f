#pragma once
// Converts token labels to spans of the text.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "tokenizer/tokenizer.h"

namespace signalbox::engine {

/// Interprets the labels of a token head: "O" is outside an entity, "B-PERSON" begins one,
/// "I-PERSON" continues it, "E-PERSON" (or "L-") ends it and "S-PERSON" (or "U-") is a complete
/// one. A label without a prefix continues, like "I-".
class EntityReader {
 public:
  explicit EntityReader(std::span<const std::string> labels);

  /// `probabilities` (tokens, labels) belong to the tokens of `encoding`; `tokens` is the range of
  /// the text's tokens. Each token gets its most probable label. In scripts with spaces between
  /// words, all pieces of a word get one type: the most probable for all of them together. A
  /// continuation label without an open entity of its type begins one, because a model that misses
  /// a beginning has still found an entity.
  std::vector<Entity> read(std::string_view text, const tokenizer::Encoding& encoding,
                           tokenizer::Span tokens, std::span<const float> probabilities) const;

 private:
  struct Tag {
    char place;        // 'O', 'B', 'I', 'E' or 'S'
    std::string type;  // empty for 'O'
  };
  static Tag tag_of(std::string_view label);
  size_t likeliest(std::span<const float> row, const std::string_view* type) const;
  std::string_view type_of_word(std::span<const float> rows) const;

  std::vector<Tag> tags_;  // (labels)
};

}  // namespace signalbox::engine
