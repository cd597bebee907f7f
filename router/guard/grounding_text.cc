// Two passes: bytes to tokens, lines and full stops to sentences. Latin letters change case without
// changing their length in UTF-8, so one lower-case copy has the offsets of the text.

#include "router/guard/grounding_text.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/utf8.h"

namespace signalbox::router::grounding {
namespace {

// Of the code points over U+007F: general punctuation, symbols, fractions and full-width
// punctuation are none.
bool is_letter(char32_t c) {
  if (c < 0x80) return ascii::is_alpha(static_cast<char>(c));
  if (c < 0xC0) return c == 0xB5 || c == 0xAA || c == 0xBA;
  if (c == 0xD7 || c == 0xF7) return false;
  if (c >= 0x2000 && c <= 0x2BFF) return false;
  if (c >= 0x3000 && c <= 0x303F) return false;
  return !(c >= 0xFF00 && c <= 0xFF20) && c != utf8::kReplacement && c != 0xFEFF;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = ascii::lower(out[i]);
    if (out[i] == '\xC3' && i + 1 < out.size()) {
      const auto next = static_cast<unsigned char>(out[i + 1]);
      if (next >= 0x80 && next <= 0x9E && next != 0x97) out[i + 1] = static_cast<char>(next + 0x20);
    }
  }
  return out;
}

// Bytes of an apostrophe at `at`, or 0.
size_t apostrophe(std::string_view text, size_t at) {
  if (at < text.size() && text[at] == '\'') return 1;
  return text.substr(at, 3) == "\u2019" ? 3 : 0;
}

bool letter_at(std::string_view text, size_t at) {
  return at < text.size() && is_letter(utf8::decode(text, at).code_point);
}

// Digits with one separator at a time between them; a narrow or plain no-break space separates
// three digits.
size_t number_end(std::string_view text, size_t at) {
  const auto digits = [&](size_t from) {
    size_t end = from;
    while (end < text.size() && ascii::is_digit(text[end])) ++end;
    return end;
  };
  size_t end = digits(at);
  for (;;) {
    size_t next = end;
    if (next < text.size() && (text[next] == ',' || text[next] == '.' || text[next] == '\'')) {
      const bool quote = text[next] == '\'';
      const size_t stop = digits(++next);
      if (stop == next || (quote && stop - next != 3)) return end;
      end = stop;
      continue;
    }
    const size_t gap = text.substr(next, 3) == "\u202F" || text.substr(next, 3) == "\u2009" ? 3
                       : text.substr(next, 2) == "\u00A0"                                   ? 2
                                                                                            : 0;
    if (gap == 0) return end;
    const size_t stop = digits(next + gap);
    if (stop - next - gap != 3) return end;
    end = stop;
  }
}

constexpr auto kAbbreviations = std::to_array<std::string_view>(
    {"mr",  "mrs",    "ms",  "dr",  "prof", "st",   "vs",   "etc",  "ed",  "eds", "al",  "cf",
     "ca",  "approx", "inc", "ltd", "co",   "corp", "jr",   "sr",   "gen", "col", "sgt", "capt",
     "lt",  "gov",    "sen", "rep", "rev",  "hon",  "dept", "univ", "est", "jan", "feb", "mar",
     "apr", "jun",    "jul", "aug", "sep",  "sept", "oct",  "nov",  "dec", "mon", "tue", "wed",
     "thu", "fri",    "sat", "sun", "ave",  "blvd", "rd",   "mt",   "e.g", "i.e", "viz", "incl"});

// Words that a full stop shortens where a number follows.
constexpr auto kBeforeNumbers = std::to_array<std::string_view>(
    {"no", "nos", "vol", "fig", "figs", "eq", "p", "pp", "sec", "ch", "max", "min", "c"});

// Whether the full stop at `stop` belongs to the word before it.
bool is_abbreviation(std::string_view text, std::string_view lower, size_t stop) {
  size_t begin = stop;
  while (begin > 0 && (ascii::is_alpha(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  const std::string_view word = lower.substr(begin, stop - begin);
  if (word.empty()) return false;
  // "5M." and "20 °C." end in units.
  if (begin > 0 && !ascii::is_space(text[begin - 1]) && text[begin - 1] != '(' &&
      text[begin - 1] != '"')
    return false;
  if (word.size() == 1) return ascii::is_upper(text[begin]) && word != "i";  // an initial
  if (word.find('.') != std::string_view::npos) return true;                 // "U.S", "a.m", "e.g"
  if (std::ranges::find(kAbbreviations, word) != kAbbreviations.end()) return true;
  size_t next = stop + 1;
  while (next < text.size() && ascii::is_space(text[next])) ++next;
  return next < text.size() && ascii::is_digit(text[next]) &&
         std::ranges::find(kBeforeNumbers, word) != kBeforeNumbers.end();
}

// After a line feed at `at`: whether the next line goes on with the sentence, as in text that was
// wrapped at a width.
bool line_goes_on(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] == '\n') return false;
  return (text[at] >= 'a' && text[at] <= 'z' && at + 1 < text.size() && text[at + 1] != ')' &&
          text[at + 1] != '.') ||
         text[at] == '(' || text[at] == ',';
}

}  // namespace

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_upper_start(std::string_view word) {
  if (word.empty()) return false;
  if (ascii::is_upper(word[0])) return true;
  const char32_t c = utf8::decode(word, 0).code_point;
  return (c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) ||
         (c >= 0x410 && c <= 0x42F);
}

bool is_all_upper(std::string_view word) {
  size_t letters = 0;
  for (const char c : word) {
    if (c >= 'a' && c <= 'z') return false;
    letters += ascii::is_upper(c);
  }
  return letters >= 2;
}

ReadText::ReadText(std::string_view text) : text_(text), lower_(to_lower(text)) {
  read_tokens();
  read_sentences();
}

const Token& ReadText::at(size_t index) const {
  static const Token kNothing;
  return index < tokens_.size() ? tokens_[index] : kNothing;
}

bool ReadText::glued(size_t index) const {
  return index > 0 && index < tokens_.size() && tokens_[index - 1].end == tokens_[index].begin;
}

void ReadText::read_tokens() {
  const std::string_view lower = lower_;
  for (size_t i = 0; i < text_.size();) {
    if (ascii::is_space(text_[i])) {
      ++i;
      continue;
    }
    Token token;
    size_t end = i;
    if (ascii::is_digit(text_[i])) {
      token.kind = TokenKind::kNumber;
      end = number_end(text_, i);
    } else if (letter_at(text_, i)) {
      token.kind = TokenKind::kWord;
      for (;;) {
        if (letter_at(text_, end)) {
          end += utf8::decode(text_, end).bytes;
        } else if (end < text_.size() && ascii::is_digit(text_[end])) {
          token.kind = TokenKind::kIdentifier;
          ++end;
        } else if (const size_t mark = apostrophe(text_, end);
                   mark > 0 && letter_at(text_, end + mark)) {
          end += mark;
        } else {
          break;
        }
      }
    } else {
      const utf8::Decoded symbol = utf8::decode(text_, i);
      end = i + symbol.bytes;
      if (symbol.code_point == 0xA0 || symbol.code_point == 0x202F || symbol.code_point == 0x2009 ||
          symbol.code_point == 0xFEFF) {
        i = end;  // a space of another kind
        continue;
      }
    }
    token.begin = static_cast<uint32_t>(i);
    token.end = static_cast<uint32_t>(end);
    token.text = text_.substr(i, end - i);
    token.lower = lower.substr(i, end - i);
    for (const std::string_view possessive : {"'s", "\u2019s"}) {
      if (token.kind != TokenKind::kNumber && token.lower.size() > possessive.size() &&
          token.lower.ends_with(possessive))
        token.lower.remove_suffix(possessive.size());
    }
    tokens_.push_back(token);
    i = end;
  }
}

void ReadText::close(uint32_t begin, uint32_t end, bool code, uint32_t& token) {
  while (begin < end && ascii::is_space(text_[begin])) ++begin;
  while (end > begin && ascii::is_space(text_[end - 1])) --end;
  Sentence sentence{.begin = begin, .end = end, .first_token = token, .code = code};
  while (token < tokens_.size() && tokens_[token].begin < end) ++token;
  sentence.last_token = token;
  if (begin < end) sentences_.push_back(sentence);
}

void ReadText::read_sentences() {
  const std::string_view lower = lower_;
  uint32_t begin = 0, token = 0;
  bool code = false;
  const auto size = static_cast<uint32_t>(text_.size());
  for (uint32_t i = 0; i < size; ++i) {
    const char c = text_[i];
    const bool fence = c == '`' && text_.substr(i, 3) == "```" && (i == 0 || text_[i - 1] == '\n');
    if (fence) {
      if (!code) {
        close(begin, i, false, token);
        begin = i;
      } else {
        const size_t line = text_.find('\n', i);
        const uint32_t stop = line == std::string_view::npos ? size : static_cast<uint32_t>(line);
        close(begin, stop, true, token);
        begin = stop;
      }
      code = !code;
      i += 2;
      continue;
    }
    if (code) continue;
    if (c == '\n') {
      uint32_t next = i + 1;
      while (next < size && (text_[next] == ' ' || text_[next] == '\t' || text_[next] == '\r'))
        ++next;
      if (!line_goes_on(text_, next)) {
        close(begin, i, false, token);
        begin = i + 1;
      }
      continue;
    }
    const std::string_view wide = text_.substr(i, 3);
    if (wide == "\u3002" || wide == "\uFF01" || wide == "\uFF1F") {
      close(begin, i + 3, false, token);
      begin = i + 3;
      continue;
    }
    if (c != '.' && c != '!' && c != '?') continue;
    uint32_t end = i + 1;
    while (end < size &&
           (text_[end] == '.' || text_[end] == '!' || text_[end] == '?' || text_[end] == '"' ||
            text_[end] == ')' || text_[end] == '\'' || text_[end] == ']' || text_[end] == '*'))
      ++end;
    if (text_.substr(end, 3) == "\u201D" || text_.substr(end, 3) == "\u2019") end += 3;
    if (end < size && !ascii::is_space(text_[end])) {
      i = end - 1;
      continue;
    }
    uint32_t next = end;
    while (next < size && ascii::is_space(text_[next])) ++next;
    if (c == '.' && next < size && is_abbreviation(text_, lower, i)) continue;
    // A number and a full stop that opens a line is the mark of a list's item.
    if (c == '.' && i > begin) {
      uint32_t from = begin;
      while (from < i && ascii::is_space(text_[from])) ++from;
      if (i - from <= 3 && std::ranges::all_of(text_.substr(from, i - from), ascii::is_digit) &&
          i > from)
        continue;
    }
    close(begin, end, false, token);
    begin = end;
    i = end - 1;
  }
  close(begin, size, code, token);
}

}  // namespace signalbox::router::grounding
