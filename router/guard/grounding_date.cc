// One reader a form, tried in the order in which one would hide another.

#include "router/guard/grounding_date.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "router/guard/grounding_number.h"
#include "router/guard/grounding_numeral.h"

namespace signalbox::router::grounding {
namespace {

struct NamedNumber {
  std::string_view name;
  int32_t number;
};

constexpr auto kMonths = std::to_array<NamedNumber>(
    {{"january", 1},   {"february", 2},  {"march", 3},  {"april", 4},     {"may", 5},
     {"june", 6},      {"july", 7},      {"august", 8}, {"september", 9}, {"october", 10},
     {"november", 11}, {"december", 12}, {"jan", 1},    {"feb", 2},       {"mar", 3},
     {"apr", 4},       {"jun", 6},       {"jul", 7},    {"aug", 8},       {"sep", 9},
     {"sept", 9},      {"oct", 10},      {"nov", 11},   {"dec", 12}});
constexpr auto kWeekdays = std::to_array<NamedNumber>({{"monday", 0},
                                                       {"tuesday", 1},
                                                       {"wednesday", 2},
                                                       {"thursday", 3},
                                                       {"friday", 4},
                                                       {"saturday", 5},
                                                       {"sunday", 6},
                                                       {"mondays", 0},
                                                       {"tuesdays", 1},
                                                       {"wednesdays", 2},
                                                       {"thursdays", 3},
                                                       {"fridays", 4},
                                                       {"saturdays", 5},
                                                       {"sundays", 6}});
constexpr auto kDecades = std::to_array<NamedNumber>({{"twenties", 20},
                                                      {"thirties", 30},
                                                      {"forties", 40},
                                                      {"fifties", 50},
                                                      {"sixties", 60},
                                                      {"seventies", 70},
                                                      {"eighties", 80},
                                                      {"nineties", 90}});

template <size_t N>
int32_t find(const std::array<NamedNumber, N>& names, std::string_view word) {
  const auto found = std::ranges::find(names, word, &NamedNumber::name);
  return found == names.end() ? -1 : found->number;
}

// The digits of a token that has nothing else, and at most `most` of them; -1 otherwise.
int32_t integer(const ReadText& text, size_t token, size_t most) {
  const Token& digits = text.at(token);
  int32_t value = 0;
  if (digits.kind != TokenKind::kNumber || digits.text.size() > most) return -1;
  const auto [end, error] =
      std::from_chars(digits.text.data(), digits.text.data() + digits.text.size(), value);
  return error == std::errc() && end == digits.text.data() + digits.text.size() ? value : -1;
}

// "2021", "'21" is left alone.
int32_t year_at(const ReadText& text, size_t token) {
  const int32_t year = integer(text, token, 4);
  return text.at(token).text.size() == 4 && year >= 1000 && year < 2200 ? year : Date::kNoYear;
}

// "3", "3rd", "the third" without "the"; `next` is moved behind it.
int32_t day_at(const ReadText& text, size_t& token) {
  const auto in_month = [](double day) { return day >= 1 && day <= 31; };
  if (const int32_t day = integer(text, token, 2); day >= 0) {
    if (!in_month(day)) return -1;
    ++token;
    if (text.glued(token) && is_one_of(text.at(token).lower, {"st", "nd", "rd", "th"})) ++token;
    return day;
  }
  const Token& word = text.at(token);
  if (word.kind != TokenKind::kWord) return -1;
  const auto number = read_numeral(text, token);  // "third", "twenty-two"
  if (!number || number->fraction || !in_month(number->value)) return -1;
  token = number->next;
  return static_cast<int32_t>(number->value);
}

int32_t month_at(const ReadText& text, size_t& token) {
  const Token& word = text.at(token);
  const int32_t month = find(kMonths, word.lower);
  if (month < 0) return -1;
  ++token;
  if (text.at(token).is(".") && text.glued(token) && word.text.size() <= 4) ++token;
  return month;
}

// ", 2021" or " 2021" or " of 2021".
void take_year(const ReadText& text, size_t& token, Date& date) {
  size_t at = token;
  if (text.at(at).is(",") || text.at(at).is("of") || text.at(at).is("in")) ++at;
  const int32_t year = year_at(text, at);
  if (year == Date::kNoYear) return;
  date.year = year;
  token = at + 1;
}

// "March 3, 2021", "March 2021", "March 3rd", and "March" alone where it cannot be a word.
bool read_month_first(const ReadText& text, size_t& token, Date& date) {
  const Token& word = text.at(token);
  size_t at = token;
  date.month = month_at(text, at);
  if (date.month < 0) return false;
  size_t after_day = at;
  if (text.at(after_day).is("the")) ++after_day;
  const int32_t day = day_at(text, after_day);
  // "March 20 people": a day is followed by a comma, a year or what cannot be counted; that is not
  // looked at, since a month in capitals before it says enough.
  if (day > 0) {
    date.day = day;
    at = after_day;
  }
  take_year(text, at, date);
  const bool alone = date.day < 0 && !date.has_year();
  if (!is_upper_start(word.text) && alone) return false;
  if (alone && is_one_of(word.lower, {"may", "march", "mar", "jan", "dec", "sep", "nov", "jun"})) {
    const std::string_view before = token > 0 ? text.at(token - 1).lower : std::string_view();
    if (!is_one_of(before, {"in", "since", "by", "until", "till", "of", "early", "late", "mid",
                            "last", "next", "this", "from", "to", "between", "during", "through",
                            "before", "after"}))
      return false;
  }
  token = at;
  return true;
}

// "3 March 2021", "3rd of March", "the third of March, 2021".
bool read_day_first(const ReadText& text, size_t& token, Date& date) {
  size_t at = token;
  date.day = day_at(text, at);
  if (date.day < 0) return false;
  if (text.at(at).is("of")) ++at;
  if (text.at(at).is("-")) ++at;
  if (!is_upper_start(text.at(at).text) && find(kMonths, text.at(at).lower) == 5) return false;
  date.month = month_at(text, at);
  if (date.month < 0) return false;
  if (text.at(at).is("-")) ++at;
  take_year(text, at, date);
  token = at;
  return true;
}

// "2021-03-04", "2021/03/04", "03/04/2021", "04.03.2021", "3/4/21".
bool read_digits_only(const ReadText& text, size_t& token, Date& date) {
  const std::string_view mark = text.at(token + 1).lower;
  if (mark == "/" || mark == "-") {
    if (text.at(token + 3).lower != mark || !text.glued(token + 1) || !text.glued(token + 2) ||
        !text.glued(token + 3) || !text.glued(token + 4))
      return false;
    const int32_t a = integer(text, token, 4), b = integer(text, token + 2, 2),
                  c = integer(text, token + 4, 4);
    if (a < 0 || b < 1 || c < 0) return false;
    const bool year_first = text.at(token).text.size() == 4;
    const size_t year_digits = text.at(token + 4).text.size();
    if (year_first) {
      date.year = a;
      date.month = b;
      date.day = c;
    } else if (year_digits == 4 || (year_digits == 2 && mark == "/")) {
      date.year = year_digits == 4 ? c : c + (c < 70 ? 2000 : 1900);
      date.month = a;
      date.day = b;
      date.other_month = b;
      date.other_day = a;
      if (date.month > 12) {
        std::swap(date.month, date.other_month);
        std::swap(date.day, date.other_day);
      }
      if (date.other_month > 12) date.other_month = date.other_day = -1;
    } else {
      return false;
    }
    if (date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31) return false;
    token += 5;
    return true;
  }
  const std::string_view written = text.at(token).text;  // "04.03.2021" is one token
  int32_t parts[3] = {};
  size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    const size_t end = std::min(written.find('.', at), written.size());
    const auto [stop, error] = std::from_chars(written.data() + at, written.data() + end, parts[i]);
    if (error != std::errc() || stop != written.data() + end || end - at > 4) return false;
    if ((i < 2) != (end < written.size())) return false;
    at = end + 1;
  }
  if (parts[0] < 1 || parts[0] > 31 || parts[1] < 1 || parts[1] > 12 || parts[2] < 1000)
    return false;
  date.day = parts[0];
  date.month = parts[1];
  date.year = parts[2];
  ++token;
  return true;
}

// "the 1990s", "1990's", "the nineties", "the '90s".
bool read_decade(const ReadText& text, size_t& token, Date& date) {
  date.years = 10;
  if (const int32_t decade = find(kDecades, text.at(token).lower); decade >= 0) {
    if (token == 0 || !is_one_of(text.at(token - 1).lower, {"the", "early", "late", "mid", "-"}))
      return false;
    date.year = 1900 + decade;
    ++token;
    return true;
  }
  const int32_t digits = integer(text, token, 4);
  const size_t width = text.at(token).text.size();
  if (digits < 0 || digits % 10 != 0 || (width != 4 && width != 2) || !text.glued(token + 1))
    return false;
  size_t at = token + 1;
  if (is_one_of(text.at(at).lower, {"'", "’"}) && text.glued(at + 1)) ++at;
  if (!text.at(at).is("s")) return false;
  date.year = width == 4 ? digits : 1900 + digits;
  if (width == 4 && digits % 100 == 0 && digits != 2000) date.years = 100;  // "the 1800s"
  token = at + 1;
  return true;
}

// "the 21st century", "the nineteenth century".
bool read_century(const ReadText& text, size_t& token, Date& date) {
  const auto ordinal = read_quantity(text, token);
  if (!ordinal || !ordinal->ordinal) return false;
  size_t at = ordinal->last_token;
  if (text.at(at).is("-")) ++at;
  if (!is_one_of(text.at(at).lower, {"century", "centuries"})) return false;
  const double number = ordinal->readings[0].value;
  if (number < 1 || number > 30) return false;
  date.years = 100;
  date.year = (static_cast<int32_t>(number) - 1) * 100;
  if (is_one_of(text.at(at + 1).lower, {"bc", "bce"})) date.year = -date.year - 100;
  token = at + 1;
  return true;
}

// "Q3 2021", "the third quarter of 2021".
bool read_quarter(const ReadText& text, size_t& token, Date& date) {
  const Token& first = text.at(token);
  size_t at = token;
  if (first.kind == TokenKind::kIdentifier && first.lower.size() == 2 && first.lower[0] == 'q' &&
      first.lower[1] >= '1' && first.lower[1] <= '4') {
    date.quarter = first.lower[1] - '0';
    ++at;
  } else {
    const auto ordinal = read_quantity(text, token);
    if (!ordinal || !ordinal->ordinal || !text.at(ordinal->last_token).is("quarter")) return false;
    const double number = ordinal->readings[0].value;
    if (number < 1 || number > 4) return false;
    date.quarter = static_cast<int32_t>(number);
    at = ordinal->last_token + 1;
  }
  take_year(text, at, date);
  token = at;
  return true;
}

// "am", "p.m.", as one token or three.
int32_t half_of_day(const ReadText& text, size_t& token) {
  const Token& word = text.at(token);
  if (word.is("am") || word.is("pm")) {
    ++token;
    return word.is("pm");
  }
  if ((word.is("a") || word.is("p")) && text.at(token + 1).is(".") && text.at(token + 2).is("m") &&
      text.glued(token + 1) && text.glued(token + 2)) {
    token += 3;
    if (text.at(token).is(".") && text.glued(token)) ++token;
    return word.is("p");
  }
  return -1;
}

// "15:30", "3:30 pm", "3 pm", "noon", "midnight".
bool read_time(const ReadText& text, size_t& token, Date& date) {
  if (is_one_of(text.at(token).lower, {"noon", "midday", "midnight"})) {
    date.minute = text.at(token).is("midnight") ? 0 : 12 * 60;
    ++token;
    return true;
  }
  int32_t hour = integer(text, token, 2), minute = 0;
  size_t at = token + 1;
  if (const auto words = hour < 0 ? read_numeral(text, token) : std::nullopt;
      words && words->words && !words->ordinal && !words->fraction) {  // "six p.m."
    hour = words->value <= 24 ? static_cast<int32_t>(words->value) : -1;
    at = words->next;
  }
  if (hour < 0 || hour > 24) return false;
  const bool colon = text.at(at).is(":") && text.glued(at) && text.glued(at + 1) &&
                     text.at(at + 1).text.size() == 2;
  if (colon) {
    minute = integer(text, at + 1, 2);
    if (minute < 0 || minute > 59) return false;
    at += 2;
    if (text.at(at).is(":") && text.glued(at) && integer(text, at + 1, 2) >= 0) at += 2;
  }
  const int32_t afternoon = half_of_day(text, at);
  const bool clock = afternoon < 0 && is_one_of(text.at(at).lower, {"o'clock", "o’clock"});
  if (clock) ++at;
  if (afternoon < 0 && !colon && !clock) return false;
  if (afternoon >= 0) {
    if (hour < 1 || hour > 12) return false;
    hour = hour % 12 + 12 * afternoon;
  }
  date.half_day = afternoon < 0 && hour <= 12;
  date.minute = (hour * 60 + minute) % (24 * 60);
  token = at;
  return true;
}

// "500 BC", "AD 79".
bool read_era(const ReadText& text, size_t& token, Date& date) {
  if (is_one_of(text.at(token).text, {"AD", "CE"})) {
    date.year = integer(text, token + 1, 4);
    if (date.year < 1) return false;
    token += 2;
    return true;
  }
  const int32_t year = integer(text, token, 5);
  if (year < 1) return false;
  const std::string_view era = text.at(token + 1).text;
  if (!is_one_of(era, {"BC", "BCE", "AD", "CE"})) return false;
  date.year = era.starts_with('B') ? -year : year;
  token += 2;
  return true;
}

bool read_weekday(const ReadText& text, size_t& token, Date& date) {
  date.weekday = find(kWeekdays, text.at(token).lower);
  if (date.weekday < 0 || !is_upper_start(text.at(token).text)) return false;
  ++token;
  return true;
}

// Days before a month in the proleptic calendar, Sakamoto's method.
constexpr int32_t kShift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};

int32_t quarter_of(const Date& date) {
  if (date.quarter > 0) return date.quarter;
  return date.month > 0 ? (date.month - 1) / 3 + 1 : -1;
}

bool same_year(const Date& date, const Date& by) {
  return by.year >= date.year && by.year + by.years <= date.year + date.years;
}

bool same_minute(const Date& a, const Date& b) {
  if (a.minute == b.minute) return true;
  return (a.half_day || b.half_day) && a.minute % 720 == b.minute % 720;
}

bool same_day(const Date& a, const Date& b, bool all) {
  const auto same = [&](int32_t am, int32_t ad, int32_t bm, int32_t bd) {
    const auto one = [&](int32_t x, int32_t y) { return x < 0 || (y < 0 ? !all : x == y); };
    return one(am, bm) && one(ad, bd);
  };
  return same(a.month, a.day, b.month, b.day) ||
         (a.other_month > 0 && same(a.other_month, a.other_day, b.month, b.day)) ||
         (b.other_month > 0 && same(a.month, a.day, b.other_month, b.other_day));
}

}  // namespace

int32_t weekday_of(int32_t year, int32_t month, int32_t day) {
  const int32_t y = month < 3 ? year - 1 : year;
  return (y + y / 4 - y / 100 + y / 400 + kShift[month - 1] + day + 6) % 7;
}

std::optional<Date> read_date(const ReadText& text, size_t token) {
  using Reader = bool (*)(const ReadText&, size_t&, Date&);
  constexpr Reader kReaders[] = {read_digits_only, read_time,    read_day_first,
                                 read_month_first, read_century, read_decade,
                                 read_quarter,     read_era,     read_weekday};
  for (const Reader reader : kReaders) {
    Date date;
    size_t next = token;
    if (!reader(text, next, date)) continue;
    date.first_token = static_cast<uint32_t>(token);
    date.last_token = static_cast<uint32_t>(std::min(next, text.tokens().size()));
    date.begin = text.at(token).begin;
    date.end = text.at(date.last_token - 1).end;
    return date;
  }
  return std::nullopt;
}

bool follows_from(const Date& date, const Date& by) {
  if (date.has_year() && !(by.has_year() && same_year(date, by))) return false;
  if (!same_day(date, by, true)) return false;
  if (date.quarter > 0 && quarter_of(by) != date.quarter) return false;
  if (date.minute >= 0 && (by.minute < 0 || !same_minute(date, by))) return false;
  if (date.weekday < 0 || date.weekday == by.weekday) return true;
  return by.has_year() && by.years == 1 && by.month > 0 && by.day > 0 &&
         weekday_of(by.year, by.month, by.day) == date.weekday;
}

bool agrees(const Date& a, const Date& b) {
  if (a.has_year() && b.has_year() && !same_year(a, b) && !same_year(b, a)) return false;
  if (!same_day(a, b, false)) return false;
  if (a.quarter > 0 && quarter_of(b) > 0 && quarter_of(b) != a.quarter) return false;
  if (a.minute >= 0 && b.minute >= 0 && !same_minute(a, b)) return false;
  return a.weekday < 0 || b.weekday < 0 || a.weekday == b.weekday;
}

}  // namespace signalbox::router::grounding
