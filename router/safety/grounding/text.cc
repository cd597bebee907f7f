// Two passes: bytes to tokens, lines and full stops to sentences. Latin letters change case without
// changing their length in UTF-8, so one lower-case copy has the offsets of the text.

#include "router/safety/grounding/text.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/utf8.h"

namespace signalbox::grounding {
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

bool digit_at(std::string_view text, size_t at) {
  return at < text.size() && ascii::is_digit(text[at]);
}

size_t digits_end(std::string_view text, size_t at) {
  while (digit_at(text, at)) ++at;
  return at;
}

// Digits with one separator at a time between them; apostrophes and no-break spaces separate three
// digits.
size_t run_end(std::string_view text, size_t at, bool commas) {
  size_t end = digits_end(text, at);
  for (;;) {
    size_t next = end;
    if (next < text.size() &&
        ((text[next] == ',' && commas) || text[next] == '.' || text[next] == '\'')) {
      const bool quote = text[next] == '\'';
      const size_t stop = digits_end(text, ++next);
      if (stop == next || (quote && stop - next != 3)) return end;
      end = stop;
      continue;
    }
    const std::string_view wide = text.substr(next, 3);
    const size_t gap = wide == "\u202F" || wide == "\u2009" || wide == "\u2019" ? 3
                       : text.substr(next, 2) == "\u00A0"                       ? 2
                                                                                : 0;
    if (gap == 0) return end;
    const size_t stop = digits_end(text, next + gap);
    if (stop - next - gap != 3) return end;
    end = stop;
  }
}

// How many digits stand between separators.
std::vector<size_t> group_sizes(std::string_view run) {
  std::vector<size_t> out;
  for (size_t at = 0; at < run.size(); ++at) {
    if (!ascii::is_digit(run[at])) continue;
    const size_t end = digits_end(run, at);
    out.push_back(end - at);
    at = end;
  }
  return out;
}

// "1,200,000", and as in India "12,50,000".
bool is_grouped(std::string_view integer) {
  const std::vector<size_t> sizes = group_sizes(integer);
  const auto behind = [&](size_t size) {
    return std::all_of(sizes.begin() + 1, sizes.end() - 1,
                       [&](size_t each) { return each == size; });
  };
  if (sizes.size() == 1) return true;
  if (sizes.back() != 3) return false;
  return (sizes[0] <= 3 && behind(3)) || (sizes[0] <= 2 && sizes.size() >= 3 && behind(2));
}

// Whether a run with commas in it is a number by its look: "1,200.5", "1.200,5", "12,5".
bool is_one_number(std::string_view run) {
  const size_t comma = run.find(',');
  if (comma == run.rfind(',') && digits_end(run, comma + 1) == run.size())
    return is_grouped(run.substr(0, comma));
  const size_t point = std::min(run.find('.'), run.size());
  return point > run.rfind(',') && digits_end(run, std::min(point + 1, run.size())) == run.size() &&
         is_grouped(run.substr(0, point));
}

// "2024-03-" or "3/5/" before `at`.
bool ends_date(std::string_view text, size_t at) {
  size_t digits = at;
  const char mark = at > 0 ? text[at - 1] : ' ';
  if (mark != '-' && mark != '/') return false;
  while (digits > 1 && ascii::is_digit(text[digits - 2]) && at - digits < 2) --digits;
  return digits < at && digits > 2 && text[digits - 2] == mark && ascii::is_digit(text[digits - 3]);
}

// "-03-05" or "/5/24" from `at` on.
bool begins_date(std::string_view text, size_t at) {
  if (at >= text.size() || (text[at] != '-' && text[at] != '/')) return false;
  const size_t end = digits_end(text.substr(0, at + 4), at + 1);
  return end > at + 1 && end < text.size() && text[end] == text[at] && digit_at(text, end + 1);
}

// "March 5,2021".
bool is_day_and_year(std::string_view text, size_t begin, size_t end) {
  const std::string_view run = text.substr(begin, end - begin);
  const size_t comma = run.find(',');
  const std::string_view year = run.substr(comma + 1);
  return comma <= 2 && year.size() == 4 && (year.starts_with("19") || year.starts_with("20")) &&
         begin > 1 && text[begin - 1] == ' ' &&
         (text[begin - 2] == '.' || letter_at(text, begin - 2));
}

// Whether the commas of the run separate cells, by what stands around it: "[1,2]", "1,200,Anna",
// "08:03,08:56", "2024-03-05,450".
bool is_list(std::string_view text, size_t begin, size_t end) {
  const char before = begin > 0 ? text[begin - 1] : ' ';
  const char after = end < text.size() ? text[end] : ' ';
  if (before == '[' && after == ']') return true;
  if (after == ',' && letter_at(text, end + 1)) return true;
  if (is_day_and_year(text, begin, end)) return true;
  if (ends_date(text, begin) || begins_date(text, end)) return true;
  if (after == ':' && digit_at(text, end + 1) && digit_at(text, end + 2)) return true;
  const bool scale = text.substr(begin, end - begin).ends_with(",000");  // "1:25,000"
  return before == ':' && begin > 1 && ascii::is_digit(text[begin - 2]) && !scale;
}

// A cell that a comma separates from the one before goes up to the next comma, so that no run is
// looked at twice.
size_t number_end(std::string_view text, size_t at) {
  const size_t cell = run_end(text, at, false);
  if (cell >= text.size() || text[cell] != ',' || (at > 0 && text[at - 1] == ',')) return cell;
  const size_t end = run_end(text, at, true);
  if (end == cell || is_list(text, at, end)) return cell;
  return is_one_number(text.substr(at, end - at)) ? end : cell;
}

// Whether the letter at `at` stands between two numbers and is a token of its own: "14h30",
// "1d12h", "5m30s" (and not "80m2"), "2024-03-05T14:30".
bool parts_numbers(std::string_view text, size_t at) {
  if (at == 0 || !ascii::is_digit(text[at - 1]) || !digit_at(text, at + 1)) return false;
  const char letter = ascii::lower(text[at]);
  const bool two = digit_at(text, at + 2);
  return letter == 'h' || letter == 'd' || (letter == 'm' && two) ||
         (letter == 't' && two && text.substr(at + 3, 1) == ":");
}

// "v2.1" is a word and a number.
bool marks_version(std::string_view text, size_t at) {
  const size_t end = digits_end(text, at + 1);
  return ascii::lower(text[at]) == 'v' && end > at + 1 && text.substr(end, 1) == "." &&
         digit_at(text, end + 1);
}

constexpr auto kAbbreviations = std::to_array<std::string_view>(
    {"mr",  "mrs",    "ms",  "dr",  "prof", "st",   "vs",   "etc",  "ed",  "eds", "al",  "cf",
     "ca",  "approx", "inc", "ltd", "co",   "corp", "jr",   "sr",   "gen", "col", "sgt", "capt",
     "lt",  "gov",    "sen", "rep", "rev",  "hon",  "dept", "univ", "est", "jan", "feb", "mar",
     "apr", "jun",    "jul", "aug", "sep",  "sept", "oct",  "nov",  "dec", "mon", "tue", "wed",
     "thu", "fri",    "sat", "sun", "ave",  "blvd", "rd",   "mt",   "e.g", "i.e", "viz", "incl"});

// Words that a full stop shortens where a number follows.
constexpr auto kBeforeNumbers =
    std::to_array<std::string_view>({"no", "nos", "vol", "fig", "figs", "eq", "p", "pp", "sec",
                                     "ch", "max", "min", "c", "ft", "yd", "lb", "hr", "tel"});

constexpr size_t kShortened = 3;  // letters of a word that goes on in small letters

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
  while (next < text.size() && text[next] == ' ') ++next;
  // "640 sq. ft. (320 a floor)".
  if (next < text.size() && word.size() <= kShortened &&
      (ascii::is_lower(text[next]) || text[next] == '('))
    return true;
  while (next < text.size() && ascii::is_space(text[next])) ++next;
  return next < text.size() && ascii::is_digit(text[next]) &&
         std::ranges::find(kBeforeNumbers, word) != kBeforeNumbers.end();
}

// How many digits stand from `at` on, or before it.
size_t digits_from(std::string_view text, size_t at) {
  size_t count = 0;
  while (at + count < text.size() && ascii::is_digit(text[at + count])) ++count;
  return count;
}
size_t digits_before(std::string_view text, size_t at) {
  size_t count = 0;
  while (count < at && count < 5 && ascii::is_digit(text[at - count - 1])) ++count;
  return count;
}

// "12. 5. 2025": the full stop at `stop`.
bool is_within_date(std::string_view text, size_t stop) {
  const size_t day = digits_before(text, stop);
  if (day < 1 || day > 2 || text.substr(stop + 1, 1) != " ") return false;
  const size_t next = digits_from(text.substr(0, stop + 7), stop + 2);
  if (next >= 1 && next <= 2 && text.substr(stop + 2 + next, 2) == ". ")
    return digits_from(text.substr(0, stop + 2 + next + 7), stop + 4 + next) == 4;
  return next == 4 && stop > day + 2 && text.substr(stop - day - 2, 2) == ". " &&
         digits_before(text, stop - day - 2) >= 1;
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

bool is_dash(const Token& token) {
  return is_one_of(token.lower, {"-", "–", "—"});
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

ReadText::ReadText(std::string_view text, Side side)
    : text_(text), side_(side), lower_(to_lower(text)) {
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

bool ReadText::opens_line(size_t index) const {
  if (index == 0 || index >= tokens_.size()) return index == 0;
  const uint32_t begin = tokens_[index - 1].end, end = tokens_[index].begin;
  return text_.substr(begin, end - begin).find('\n') != std::string_view::npos;
}

bool ReadText::opens_sentence(size_t index) const {
  const auto found = std::ranges::lower_bound(sentences_, index, {}, &Sentence::first_token);
  return found != sentences_.end() && found->first_token == index;
}

size_t ReadText::word_end(size_t at, Token& token) const {
  token.kind = TokenKind::kWord;
  if (parts_numbers(text_, at) || marks_version(text_, at)) return at + 1;
  size_t end = at;
  for (;;) {
    if (letter_at(text_, end)) {
      end += utf8::decode(text_, end).bytes;
    } else if (digit_at(text_, end)) {
      token.kind = TokenKind::kIdentifier;
      ++end;
    } else if (const size_t mark = apostrophe(text_, end);
               mark > 0 && letter_at(text_, end + mark)) {
      end += mark;
    } else {
      return end;
    }
  }
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
      end = word_end(i, token);
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
    if (c == '.' && is_within_date(text_, i)) continue;
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

}  // namespace signalbox::grounding
