// Two passes: bytes to tokens, then lines and full stops to sentences. Latin letters keep their
// length in UTF-8 when they change case, so offsets into the lower-case copy fit the text.

#include "router/text/read_text.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/utf8.h"

namespace signalbox::text {
namespace {

// Excludes punctuation, symbols and fractions above U+007F.
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

// The length of an apostrophe in bytes, or 0.
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

size_t spaces_end(std::string_view text, size_t at) {
  while (at < text.size() && ascii::is_space(text[at])) ++at;
  return at;
}

// The end of digits with single separators. Apostrophes and no-break spaces must be followed by
// three digits.
size_t run_end(std::string_view text, size_t at, bool commas) {
  size_t end = digits_end(text, at);
  for (;;) {
    const std::string_view wide = text.substr(end, 3);
    const bool point = wide.starts_with('.') || (commas && wide.starts_with(','));
    const size_t gap = point || wide.starts_with('\'')                            ? 1
                       : wide == "\u202F" || wide == "\u2009" || wide == "\u2019" ? 3
                       : wide.starts_with("\u00A0")                               ? 2
                                                                                  : 0;
    const size_t stop = digits_end(text, end + gap);
    if (gap == 0 || stop == end + gap || (!point && stop - end - gap != 3)) return end;
    end = stop;
  }
}

// True if the groups of digits are those of one number: "1,200,000", "12,50,000" as in India.
bool is_grouped(std::string_view integer) {
  std::vector<size_t> sizes;
  for (size_t at = 0; at < integer.size(); ++at) {
    if (!ascii::is_digit(integer[at])) continue;
    sizes.push_back(digits_end(integer, at) - at);
    at += sizes.back();
  }
  const auto inner_are = [&](size_t size) {
    return std::all_of(sizes.begin() + 1, sizes.end() - 1,
                       [&](size_t each) { return each == size; });
  };
  if (sizes.size() == 1) return true;
  if (sizes.back() != 3) return false;
  return (sizes[0] <= 3 && inner_are(3)) || (sizes[0] <= 2 && sizes.size() >= 3 && inner_are(2));
}

// True if a run with commas looks like one number: "1,200.5", "1.200,5", "12,5".
bool is_one_number(std::string_view run) {
  const size_t comma = run.find(',');
  if (comma == run.rfind(',') && digits_end(run, comma + 1) == run.size())
    return is_grouped(run.substr(0, comma));
  const size_t point = std::min(run.find('.'), run.size());
  return point > run.rfind(',') && digits_end(run, std::min(point + 1, run.size())) == run.size() &&
         is_grouped(run.substr(0, point));
}

// True if the characters around a run with commas make it a list: "[1,200]", "1,200,Anna",
// "08:03,08:56", "2024-03-05,450".
bool is_list(std::string_view text, size_t begin, size_t end) {
  const char before = begin > 0 ? text[begin - 1] : ' ';
  const char after = end < text.size() ? text[end] : ' ';
  if (before == '[' && after == ']') return true;
  if (after == ',' && letter_at(text, end + 1)) return true;
  if (after == ':' && digit_at(text, end + 1)) return true;
  const bool scale = text.substr(begin, end - begin).ends_with(",000");  // "1:25,000"
  return (before == '-' || (before == ':' && !scale)) && begin > 1 && digit_at(text, begin - 2);
}

// A cell after a comma is read up to the next comma, so that no run is scanned twice.
size_t number_end(std::string_view text, size_t at) {
  const size_t cell = run_end(text, at, false);
  if (cell >= text.size() || text[cell] != ',' || (at > 0 && text[at - 1] == ',')) return cell;
  const size_t end = run_end(text, at, true);
  if (end == cell || is_list(text, at, end)) return cell;
  return is_one_number(text.substr(at, end - at)) ? end : cell;
}

// True if a letter between digits is a token of its own: "14h30", "1d12h", "5m30s" (but not
// "80m2"), "2024-03-05T14:30".
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

// Abbreviations only before a number.
constexpr auto kBeforeNumbers =
    std::to_array<std::string_view>({"no", "nos", "vol", "fig", "figs", "eq", "p", "pp", "sec",
                                     "ch", "max", "min", "c", "ft", "yd", "lb", "hr", "tel"});

// True if the full stop belongs to an abbreviation. Not after units: "5M.", "20 °C."
bool is_abbreviation(std::string_view text, std::string_view lower, size_t stop) {
  constexpr size_t kUnitLetters = 3;  // "640 sq. ft. (320 a floor)"
  size_t begin = stop;
  while (begin > 0 && (ascii::is_alpha(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  const std::string_view word = lower.substr(begin, stop - begin);
  if (word.empty()) return false;
  if (begin > 0 && !ascii::is_space(text[begin - 1]) && text[begin - 1] != '(' &&
      text[begin - 1] != '"')
    return false;
  if (word.size() == 1) return ascii::is_upper(text[begin]) && word != "i";  // an initial
  if (word.find('.') != std::string_view::npos) return true;                 // "U.S", "a.m", "e.g"
  if (std::ranges::find(kAbbreviations, word) != kAbbreviations.end()) return true;
  const size_t next = spaces_end(text, stop + 1);
  const bool same_line = text.substr(stop, next - stop).find('\n') == std::string_view::npos;
  if (same_line && next < text.size() && word.size() <= kUnitLetters &&
      (ascii::is_lower(text[next]) || text[next] == '('))
    return true;
  return digit_at(text, next) && std::ranges::find(kBeforeNumbers, word) != kBeforeNumbers.end();
}

size_t digits_before(std::string_view text, size_t at) {
  size_t count = 0;
  while (count < at && count < 5 && ascii::is_digit(text[at - count - 1])) ++count;
  return count;
}

// True if the full stop belongs to a date: "12. 5. 2025".
bool is_within_date(std::string_view text, size_t stop) {
  const size_t day = digits_before(text, stop);
  if (day < 1 || day > 2 || text.substr(stop + 1, 1) != " ") return false;
  const size_t end = digits_end(text.substr(0, stop + 7), stop + 2), next = end - stop - 2;
  if (next >= 1 && next <= 2 && text.substr(end, 2) == ". ")
    return digits_end(text.substr(0, end + 7), end + 2) == end + 6;
  return next == 4 && stop > day + 2 && text.substr(stop - day - 2, 2) == ". " &&
         digits_before(text, stop - day - 2) >= 1;
}

// True if a line continues the previous one, as in text that was wrapped at a width.
bool continues_line(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] == '\n') return false;
  return (ascii::is_lower(text[at]) && at + 1 < text.size() && text[at + 1] != ')' &&
          text[at + 1] != '.') ||
         text[at] == '(' || text[at] == ',';
}

bool is_wide_stop(std::string_view text, size_t at) {
  return is_one_of(text.substr(at, 3), {"\u3002", "\uFF01", "\uFF1F"});
}

// The end of a full stop with the marks and quotes after it.
size_t stop_end(std::string_view text, size_t stop) {
  size_t end = text.find_first_not_of(".!?\")'*]", stop + 1);
  if (end == std::string_view::npos) end = text.size();
  return is_one_of(text.substr(end, 3), {"\u201D", "\u2019"}) ? end + 3 : end;
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
  return std::ranges::none_of(word, ascii::is_lower) &&
         std::ranges::count_if(word, ascii::is_upper) >= 2;
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
  for (size_t i = spaces_end(text_, 0), end = 0; i < text_.size(); i = spaces_end(text_, end)) {
    Token token;
    if (ascii::is_digit(text_[i])) {
      token.kind = TokenKind::kNumber;
      end = number_end(text_, i);
    } else if (letter_at(text_, i)) {
      end = word_end(i, token);
    } else {
      const utf8::Decoded symbol = utf8::decode(text_, i);
      end = i + symbol.bytes;
      const char32_t c = symbol.code_point;
      if (c == 0xA0 || c == 0x202F || c == 0x2009 || c == 0xFEFF) continue;  // other spaces
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
  }
}

// Ends the current sentence at `end`, where the next one begins.
void ReadText::close(uint32_t end, bool code) {
  while (sentence_begin_ < end && ascii::is_space(text_[sentence_begin_])) ++sentence_begin_;
  Sentence sentence{
      .begin = sentence_begin_, .end = end, .first_token = sentence_token_, .code = code};
  sentence_begin_ = end;
  while (sentence.end > sentence.begin && ascii::is_space(text_[sentence.end - 1])) --sentence.end;
  while (sentence_token_ < tokens_.size() && tokens_[sentence_token_].begin < sentence.end)
    ++sentence_token_;
  sentence.last_token = sentence_token_;
  if (sentence.begin < sentence.end) sentences_.push_back(sentence);
}

// Closes the block of code that the fence opens; returns its end.
size_t ReadText::close_code(size_t fence) {
  close(static_cast<uint32_t>(fence), false);
  const size_t last = std::min(text_.find("\n```", fence + 3), text_.size());
  const size_t end = std::min(text_.find('\n', last + 1), text_.size());
  close(static_cast<uint32_t>(end), true);
  return end;
}

// `end` is the end of the full stop at `stop` with its closing marks.
bool ReadText::stop_ends_sentence(size_t stop, size_t end) const {
  if (end < text_.size() && !ascii::is_space(text_[end])) return false;
  if (text_[stop] != '.') return true;
  if (spaces_end(text_, end) < text_.size() && is_abbreviation(text_, lower_, stop)) return false;
  if (is_within_date(text_, stop)) return false;
  // "12." at the beginning of a line is the mark of a list item.
  const size_t from = spaces_end(text_, sentence_begin_);
  return from >= stop || stop - from > 3 || digits_end(text_, from) < stop;
}

void ReadText::read_sentences() {
  for (size_t i = 0; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '`' && text_.substr(i, 3) == "```" && (i == 0 || text_[i - 1] == '\n')) {
      i = close_code(i) - 1;
    } else if (c == '\n') {
      const size_t next = std::min(text_.find_first_not_of(" \t\r", i + 1), text_.size());
      if (!continues_line(text_, next)) close(static_cast<uint32_t>(i), false);
    } else if (is_wide_stop(text_, i)) {
      close(static_cast<uint32_t>(i + 3), false);
    } else if (c == '.' || c == '!' || c == '?') {
      const size_t end = stop_end(text_, i);
      if (stop_ends_sentence(i, end)) close(static_cast<uint32_t>(end), false);
      if (end >= text_.size() || !ascii::is_space(text_[end]) ||
          sentence_begin_ == static_cast<uint32_t>(end))
        i = end - 1;
    }
  }
  close(static_cast<uint32_t>(text_.size()), false);
}

}  // namespace signalbox::text
