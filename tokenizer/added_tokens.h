#pragma once
// Finds added tokens in the text before any other processing, so that "[MASK]" stays whole. The
// rules follow AddedVocabulary of the reference (Hugging Face's tokenizers). Some tokens are
// searched in the raw text and some in the normalised text. The leftmost match wins, and at one
// position the longest. A token can also absorb surrounding white space or refuse to match inside a
// word.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::tokenizer {

struct AddedToken {
  std::string content;  // the text to find; already normalised if `normalized` is set
  int32_t id = 0;
  bool normalized = false;   // found in the normalised text
  bool lstrip = false;       // absorbs white space before it
  bool rstrip = false;       // absorbs white space after it
  bool single_word = false;  // matches only if no word character is adjacent
};

/// Tokens to find in one kind of text (raw or normalised). Immutable; thread-safe.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Contents must be unique and not empty.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// Returns true if a text may be split before a lone space (see Normalizer::is_local) and the
  /// parts searched separately with the same result.
  bool is_local() const;

  /// A stretch of text between added tokens, or one added token.
  struct Part {
    size_t begin;
    size_t end;
    int32_t id;  // -1 for text
  };

  /// Splits a text into parts, one at a time, so that a caller with enough tokens can stop early.
  class Splitter {
   public:
    Splitter(const AddedTokens& tokens, std::string_view text) : tokens_(tokens), text_(text) {}
    /// Returns the next part, in order and never empty, or nullopt at the end.
    std::optional<Part> next();

   private:
    std::optional<Part> next_token();
    size_t spaces_end(size_t begin);

    const AddedTokens& tokens_;
    std::string_view text_;
    std::optional<Part> held_;  // a token found behind the text part that was returned first
    size_t search_ = 0;         // first position of the next match
    size_t part_ = 0;           // beginning of the next text part
    size_t spaces_begin_ = 0;   // the run of white space scanned last
    size_t spaces_end_ = 0;
  };

 private:
  bool may_begin_at(std::string_view text, size_t position) const;
  const AddedToken* longest_at(std::string_view text, size_t position) const;

  std::vector<AddedToken> tokens_;  // sorted by content
  struct Bucket {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  std::vector<Bucket> by_first_byte_;  // (256), ranges of tokens_
  std::vector<bool> by_first_two_;  // (256, 256): true if a token begins with the two bytes or is
                                    // just the first byte
};

}  // namespace signalbox::tokenizer
