#pragma once
// Splits a text into tokens with positions and into sentences. Unlike a model's tokenizer it keeps
// numbers whole ("1,200.5").

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::text {

enum class TokenKind : uint8_t {
  kWord,        // letters, with apostrophes between them
  kNumber,      // digits, with single separators between them; "1,2,3" is three tokens
  kIdentifier,  // letters and digits that begin with a letter: "H2O", "GPT4"
  kSymbol,      // one character of anything else
};

struct Token {
  TokenKind kind = TokenKind::kSymbol;
  uint32_t begin = 0, end = 0;  // bytes of the text
  std::string_view text;        // as written
  std::string_view lower;       // in lower case (Latin letters), without a possessive 's
  bool is(std::string_view word) const { return lower == word; }
};

/// A stretch of a text, half-open.
struct ByteSpan {
  uint32_t begin = 0, end = 0;
};

/// A sentence, a list item, a line that stands alone, or a block of code.
struct Sentence {
  uint32_t begin = 0, end = 0;               // bytes of the text, without surrounding white space
  uint32_t first_token = 0, last_token = 0;  // half-open
  bool code = false;
};

/// The role of a text. If a form is ambiguous ("5m"), an answer means its usual reading and a
/// context offers all of them.
enum class Side : uint8_t { kAnswer, kContext };

/// The tokens point into this object and into `text`, which must outlive it.
class ReadText {
 public:
  /// `text` must be smaller than 4 GiB.
  explicit ReadText(std::string_view text, Side side = Side::kAnswer);
  ReadText(const ReadText&) = delete;
  ReadText& operator=(const ReadText&) = delete;

  std::string_view text() const { return text_; }
  std::string_view lower() const { return lower_; }  // Latin letters only; as long as the text
  bool is_context() const { return side_ == Side::kContext; }
  const std::vector<Token>& tokens() const { return tokens_; }
  const std::vector<Sentence>& sentences() const { return sentences_; }

  /// The token at `index`, or an empty one if out of range. Indices wrap below 0.
  const Token& at(size_t index) const;
  /// True if the token follows the previous one without a space.
  bool glued(size_t index) const;
  /// True if the token is the first of its line.
  bool opens_line(size_t index) const;
  /// True if the token is the first of its sentence.
  bool opens_sentence(size_t index) const;

 private:
  void read_tokens();
  size_t word_end(size_t at, Token& token) const;
  void read_sentences();
  void close(uint32_t end, bool code);
  size_t close_code(size_t fence);
  bool stop_ends_sentence(size_t stop, size_t end) const;

  std::string_view text_;
  Side side_;
  std::string lower_;  // (text.size())
  std::vector<Token> tokens_;
  std::vector<Sentence> sentences_;
  uint32_t sentence_begin_ = 0, sentence_token_ = 0;  // where the next sentence begins
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);

bool is_dash(const Token& token);

/// True if the first letter is a capital.
bool is_upper_start(std::string_view word);
/// True if the word has two letters or more and all of them are capitals.
bool is_all_upper(std::string_view word);

}  // namespace signalbox::text
