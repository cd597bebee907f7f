#pragma once
// Tokens that are found in the text before anything else happens to it: "[MASK]" stays whole. As
// the reference's AddedVocabulary has it, some are looked for in the raw text and some in the
// normalised text, at the leftmost place and the longest first, and each may swallow white space
// around it or refuse to match inside a word.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::tokenizer {

struct AddedToken {
  std::string content;  // what is looked for: normalised already where `normalized` says so
  int32_t id = 0;
  bool normalized = false;   // looked for in the normalised text
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool single_word = false;  // only where no word character touches it
};

/// A set of tokens to look for in one kind of text. Immutable; thread-safe.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Contents must differ from each other and not be empty.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// Whether a text may be cut before a lone space (see Normalizer::is_local) and searched part by
  /// part with the same result.
  bool is_local() const;

  /// A stretch of text between added tokens, or one added token.
  struct Part {
    size_t begin;
    size_t end;
    int32_t id;  // -1: text
  };

  /// Cuts a text into parts, one at a time, so that a caller with enough tokens can stop.
  class Splitter {
   public:
    Splitter(const AddedTokens& tokens, std::string_view text) : tokens_(tokens), text_(text) {}
    /// The next part, in order and never empty; none at the end.
    std::optional<Part> next();

   private:
    std::optional<Part> next_token();
    size_t spaces_end(size_t begin);

    const AddedTokens& tokens_;
    std::string_view text_;
    std::optional<Part> held_;  // a token found beyond the text part that was returned first
    size_t search_ = 0;         // where the next match may begin
    size_t part_ = 0;           // where the next text part begins
    size_t spaces_begin_ = 0;   // the run of white space that was scanned last
    size_t spaces_end_ = 0;
  };

 private:
  bool may_begin_at(std::string_view text, size_t position) const;
  const AddedToken* longest_at(std::string_view text, size_t position) const;

  std::vector<AddedToken> tokens_;  // by content
  struct Bucket {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  std::vector<Bucket> by_first_byte_;  // (256), ranges of tokens_
  std::vector<bool> by_first_two_;  // (256, 256): whether a token begins so, or is the first byte
};

}  // namespace signalbox::tokenizer
