// Finds dates with a day, a month and a year, and the time after them. A year alone, a weekday or
// "next May" is often not personal; the model decides on those.

#include <algorithm>

#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};

// The month that a word names, in full or by its first three letters ("sept" by four); 0 if there
// is none.
uint32_t month_of(std::string_view word) {
  for (uint32_t i = 0; i < kMonths.size(); ++i) {
    if (same_word(word, kMonths[i]) || same_word(word, kMonths[i].substr(0, 3))) return i + 1;
  }
  return same_word(word, "sept") ? 9 : 0;
}

bool is_year(uint32_t year) {
  return year >= 1000 && year < 2200;
}
bool is_day(uint32_t day) {
  return day >= 1 && day <= 31;
}

// The end of `least` to `most` digits that begin at `at`; 0 if there are more or fewer.
size_t digits_end(const Text& text, size_t at, size_t least, size_t most) {
  const size_t end = text.digits_end(at);
  return end - at >= least && end - at <= most ? end : 0;
}

size_t below(const Text& text, size_t at, uint32_t bound) {
  const size_t end = digits_end(text, at, 2, 2);
  return end != 0 && text.number(at, end) < bound ? end : 0;
}

// The end of a time zone, "Z", "+02:00" or "-0500"; `at` without one.
size_t zone_end(const Text& text, size_t at) {
  if (text[at] == 'Z' && !is_alnum(text[at + 1])) return at + 1;
  if (text[at] != '+' && text[at] != '-') return at;
  const size_t hours = at + 3;
  if (!is_digit(text[at + 1]) || !is_digit(text[at + 2])) return at;
  const size_t minutes = hours + (text[hours] == ':' ? 1 : 0);
  const size_t end = below(text, minutes, 60);
  return end == 0 ? at : end;
}

// The end of " pm" or " a.m."; `at` without one.
size_t half_end(const Text& text, size_t at) {
  size_t letter = at + (text[at] == ' ' ? 1 : 0);
  if (lower(text[letter]) != 'a' && lower(text[letter]) != 'p') return at;
  ++letter;
  const bool dots = text[letter] == '.';
  if (dots) ++letter;
  if (lower(text[letter]) != 'm' || is_alnum(text[letter + 1])) return at;
  return letter + (dots && text[letter + 1] == '.' ? 2 : 1);
}

// The end of the time after a date, "T14:11:22.5Z" or " 9:30 pm"; `date_end` without one.
size_t time_end(const Text& text, size_t date_end) {
  size_t at = date_end;
  if (text[at] == 'T' || text[at] == 't') {
    ++at;
  } else {
    if (text[at] == ',') ++at;
    if (text[at] != ' ') return date_end;
    ++at;
  }
  size_t end = digits_end(text, at, 1, 2);
  if (end == 0 || text.number(at, end) > 24 || text[end] != ':') return date_end;
  end = below(text, end + 1, 60);
  if (end == 0) return date_end;
  if (text[end] == ':') {
    const size_t seconds = below(text, end + 1, 61);
    if (seconds == 0) return date_end;
    end = seconds;
    if ((text[end] == '.' || text[end] == ',') && is_digit(text[end + 1])) {
      const size_t fraction = digits_end(text, end + 1, 1, 9);
      if (fraction != 0) end = fraction;
    }
  }
  end = half_end(text, end);
  return zone_end(text, end);
}

bool is_inside_word(const Text& text, size_t begin, size_t end) {
  const char before = text.before(begin);
  const bool joined = before == '.' || before == '-' || before == '/';
  if (is_alnum(before) || before == '_' || (joined && is_digit(text[begin - 2]))) return true;
  const char next = text[end];
  const bool joins = next == '.' || next == '-' || next == '/';
  return is_alnum(next) || (joins && is_digit(text[end + 1]));
}

Found make_date(const Text& text, size_t begin, size_t end, double score) {
  const size_t whole = time_end(text, end);
  if (is_inside_word(text, begin, whole)) return std::nullopt;
  return Match{kDate, begin, whole, score};
}

// Finds 2020-06-20, 6/24/1991 and 24.6.1991: three numbers with one separator.
Found find_numeric(const Text& text, size_t at) {
  std::array<uint32_t, 3> value{};
  std::array<size_t, 3> size{};
  size_t end = at;
  const size_t first = text.digits_end(at);
  const char separator = first - at <= 4 ? text[first] : '\0';
  if (separator != '-' && separator != '/' && separator != '.') return std::nullopt;
  for (size_t i = 0; i < 3; ++i) {
    if (i > 0 && text[end++] != separator) return std::nullopt;
    const size_t next = digits_end(text, end, 1, 4);
    if (next == 0) return std::nullopt;
    value[i] = text.number(end, next);
    size[i] = next - end;
    end = next;
  }
  const bool by_year = size[0] == 4 && is_year(value[0]) && size[1] <= 2 && size[2] <= 2 &&
                       value[1] >= 1 && value[1] <= 12 && is_day(value[2]);
  const bool short_year = size[2] == 2 && separator == '/';
  const bool ends_in_year = (size[2] == 4 && is_year(value[2])) || short_year;
  const bool by_day = size[0] <= 2 && size[1] <= 2 && ends_in_year && value[0] >= 1 &&
                      value[1] >= 1 && is_day(std::max(value[0], value[1])) &&
                      std::min(value[0], value[1]) <= 12;
  return by_year || by_day ? make_date(text, at, end, kInContext) : std::nullopt;
}

// A date that is written out is often a date of history. It needs a cue word to count as certain;
// otherwise a model must confirm it.
double score_written(const Cues& cues, size_t at) {
  constexpr size_t kNear = 24;
  return cues.near(Cue::kDated, at, kNear) ? kInContext : kLikely;
}

size_t ordinal_end(const Text& text, size_t end) {
  const std::string_view suffix =
      text.from(std::min(end, text.size()), std::min(end + 2, text.size()));
  constexpr std::array kSuffixes = {"st", "nd", "rd", "th"};
  const bool has_suffix =
      std::any_of(kSuffixes.begin(), kSuffixes.end(),
                  [&](std::string_view each) { return same_word(suffix, each); });
  return has_suffix ? end + 2 : end;
}

size_t year_end(const Text& text, size_t at) {
  if (text[at] == ',') ++at;
  if (text[at] != ' ' && text[at] != '-') return 0;
  const size_t end = digits_end(text, at + 1, 4, 4);
  return end != 0 && is_year(text.number(at + 1, end)) ? end : 0;
}

// Finds 24 June 1991, 24th of June, 1991 and 24-Jun-1991.
Found find_written(const Text& text, size_t at, const Cues& cues) {
  size_t end = digits_end(text, at, 1, 2);
  if (end == 0 || !is_day(text.number(at, end))) return std::nullopt;
  end = ordinal_end(text, end);
  if (text[end] != ' ' && text[end] != '-') return std::nullopt;
  ++end;
  if (same_word(text.from(std::min(end, text.size()), std::min(end + 3, text.size())), "of "))
    end += 3;
  const size_t word = end;
  while (is_alpha(text[end]) && end - word < 10) ++end;
  if (month_of(text.from(word, end)) == 0) return std::nullopt;
  if (text[end] == '.') ++end;
  end = year_end(text, end);
  return end == 0 ? std::nullopt : make_date(text, at, end, score_written(cues, at));
}

}  // namespace

Found find_date(const Text& text, size_t at, const Cues& cues) {
  const Found numeric = find_numeric(text, at);
  return numeric ? numeric : find_written(text, at, cues);
}

// Finds June 24, 1991 and Jun. 24th 1991.
Found find_date_by_month(const Text& text, size_t at, size_t word_end, const Cues& cues) {
  size_t end = word_end + (text[word_end] == '.' ? 1 : 0);
  const size_t day = end + 1;
  if (text[end] != ' ' || !is_digit(text[day]) || month_of(text.from(at, word_end)) == 0)
    return std::nullopt;
  end = digits_end(text, day, 1, 2);
  if (end == 0 || !is_day(text.number(day, end))) return std::nullopt;
  end = year_end(text, ordinal_end(text, end));
  return end == 0 ? std::nullopt : make_date(text, at, end, score_written(cues, at));
}

}  // namespace signalbox::pii
