#pragma once
// A text as those who compare claims read it: tokens that know where they stand, and sentences.
// Not the tokenizer of a model: numbers stay whole ("1,200.5"), and nothing depends on a model.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::grounding {

enum class TokenKind : uint8_t {
  kWord,        // letters, with apostrophes between them
  kNumber,      // digits, with single separators between them; the cells of "1,2,3" are three
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
  uint32_t begin = 0, end = 0;               // bytes of the text, white space around left out
  uint32_t first_token = 0, last_token = 0;  // half-open
  bool code = false;
};

/// What a text is read for. Where a form can be read in several ways ("12,15", "5m"), an answer
/// claims the usual one and a context offers all of them.
enum class Side : uint8_t { kAnswer, kContext };

/// Looks into `text`, which outlives it. Neither copied nor moved: its tokens look into it.
class ReadText {
 public:
  /// Under 4 GiB.
  explicit ReadText(std::string_view text, Side side = Side::kAnswer);
  ReadText(const ReadText&) = delete;
  ReadText& operator=(const ReadText&) = delete;

  std::string_view text() const { return text_; }
  std::string_view lower() const { return lower_; }  // of Latin letters, as long as the text
  bool offers() const { return side_ == Side::kContext; }
  const std::vector<Token>& tokens() const { return tokens_; }
  const std::vector<Sentence>& sentences() const { return sentences_; }

  /// The token at `index`, or one that is nothing (empty) outside. Indices wrap below 0.
  const Token& at(size_t index) const;
  /// True when nothing stands between the token and the one before it.
  bool glued(size_t index) const;
  /// True when the token is the first of its line.
  bool opens_line(size_t index) const;
  /// True when a sentence begins with the token.
  bool opens_sentence(size_t index) const;

 private:
  void read_tokens();
  size_t word_end(size_t at, Token& token) const;
  void read_sentences();
  void close(uint32_t begin, uint32_t end, bool code, uint32_t& token);

  std::string_view text_;
  Side side_;
  std::string lower_;  // (text.size())
  std::vector<Token> tokens_;
  std::vector<Sentence> sentences_;
};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words);

/// Of a range: "9-17".
bool is_dash(const Token& token);

/// Whether the word's first letter is a capital; whether all are, of two at least.
bool is_upper_start(std::string_view word);
bool is_all_upper(std::string_view word);

}  // namespace signalbox::grounding
