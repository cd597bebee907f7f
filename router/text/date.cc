// One reader for each form. Their order matters where one form begins like another.

#include "router/text/date.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "router/text/clock.h"
#include "router/text/numeral.h"
#include "router/text/quantity.h"

namespace signalbox::text {
namespace {

// The position in a table gives the number. Short forms follow the long ones.
constexpr std::string_view kMonths[] = {
    "january", "february", "march",    "april", "may", "june", "july", "august", "september",
    "october", "november", "december", "jan",   "feb", "mar",  "apr",  "may",    "jun",
    "jul",     "aug",      "sep",      "oct",   "nov", "dec",  "",     "",       "",
    "",        "",         "",         "",      "",    "sept"};
constexpr std::string_view kWeekdays[] = {
    "monday",  "tuesday",  "wednesday",  "thursday",  "friday",  "saturday",  "sunday",
    "mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays"};
constexpr std::string_view kShortWeekdays[] = {"mon", "tue", "wed",  "thu", "fri",   "sat",
                                               "sun", "",    "tues", "",    "thurs", "",
                                               "",    "",    "",     "",    "",      "thur"};
constexpr std::string_view kDecades[] = {"twenties", "thirties",  "forties",  "fifties",
                                         "sixties",  "seventies", "eighties", "nineties"};

int32_t position(std::span<const std::string_view> names, std::string_view word) {
  const auto found = std::ranges::find(names, word);
  return found == names.end() || word.empty() ? -1 : static_cast<int32_t>(found - names.begin());
}

int32_t month_of(std::string_view word) {
  const int32_t at = position(kMonths, word);
  return at < 0 ? -1 : at % 12 + 1;
}

int32_t weekday_in(std::span<const std::string_view> names, std::string_view word) {
  const int32_t at = position(names, word);
  return at < 0 ? -1 : at % 7;
}

// The value of at most `most` digits and nothing else, or -1.
int32_t integer(std::string_view digits, size_t most) {
  int32_t value = 0;
  if (digits.size() > most) return -1;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  return error == std::errc() && end == last && value >= 0 ? value : -1;
}

int32_t integer(const ReadText& text, size_t token, size_t most) {
  return text.at(token).kind == TokenKind::kNumber ? integer(text.at(token).text, most) : -1;
}

// Reads a year from 1000 to 2199.
int32_t year_at(const ReadText& text, size_t token) {
  const int32_t year = integer(text, token, 4);
  return text.at(token).text.size() == 4 && year >= 1000 && year < 2200 ? year : Date::kNoYear;
}

// Reads "3", "3rd" or "third" and moves `token` past it; -1 if it is not a day of a month.
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

// The token after the last day of "5-7" or "5 to 7". `token` follows the first day.
std::optional<size_t> end_of_days(const ReadText& text, size_t token, int32_t first) {
  if (!is_dash(text.at(token)) &&
      !is_one_of(text.at(token).lower, {"to", "and", "&", "through", "until"}))
    return std::nullopt;
  size_t at = token + 1;
  if (text.at(at).is("the")) ++at;
  if (text.at(at).kind != TokenKind::kNumber || day_at(text, at) <= first) return std::nullopt;
  return at;
}

int32_t month_at(const ReadText& text, size_t& token) {
  const Token& word = text.at(token);
  const int32_t month = month_of(word.lower);
  if (month < 0) return -1;
  ++token;
  if (text.at(token).is(".") && text.glued(token) && word.text.size() <= 4) ++token;
  return month;
}

int32_t year_of_two_digits(int32_t digits) {
  return digits + (digits < 70 ? 2000 : 1900);
}

// Reads ", 2021", "2021", "of 2021" or "'21", if present, and moves `token` past it.
void take_year(const ReadText& text, size_t& token, Date& date) {
  size_t at = token;
  if (is_one_of(text.at(at).lower, {"'", "’"}) && text.glued(at + 1) &&
      text.at(at + 1).text.size() == 2 && integer(text, at + 1, 2) >= 0) {
    date.year = year_of_two_digits(integer(text, at + 1, 2));
    token = at + 2;
    return;
  }
  if (text.at(at).is(",") || text.at(at).is("of") || text.at(at).is("in")) ++at;
  const int32_t year = year_at(text, at);
  if (year == Date::kNoYear || text.opens_sentence(at)) return;
  date.year = year;
  token = at + 1;
}

// Reads "March 3, 2021", "March 2021", "March 3rd", and a lone month that cannot be another word.
bool read_month_first(const ReadText& text, size_t& token, Date& date) {
  const Token& word = text.at(token);
  size_t at = token;
  date.month = month_at(text, at);
  if (date.month < 0) return false;
  size_t after_day = at;
  if (text.at(after_day).is("the")) ++after_day;
  const int32_t day = day_at(text, after_day);
  if (day > 0) {
    date.day = day;
    at = after_day;
  }
  take_year(text, at, date);
  if (day > 0 && !date.has_year() && is_dash(text.at(at))) {  // "March 5-7, 2025"
    if (auto last = end_of_days(text, at, day)) take_year(text, *last, date);
  }
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

// Reads "3 March 2021", "3rd of March", "the third of March, 2021", and the 3 of "3-5 March 2021".
bool read_day_first(const ReadText& text, size_t& token, Date& date) {
  size_t at = token;
  date.day = day_at(text, at);
  if (date.day < 0) return false;
  const size_t first_end = at;
  const auto last_end = end_of_days(text, at, date.day);
  if (last_end) at = *last_end;
  if (text.at(at).is("of")) ++at;
  if (text.at(at).is("-")) ++at;
  if (!is_upper_start(text.at(at).text) && month_of(text.at(at).lower) == 5) return false;
  date.month = month_at(text, at);
  if (date.month < 0) return false;
  if (text.at(at).is("-")) ++at;
  take_year(text, at, date);
  token = last_end ? first_end : at;
  return true;
}

// Reads the time after a date in digits: "T14:30:00Z", "T14:30+01:00".
void take_iso_time(const ReadText& text, size_t& token, Date& date) {
  if (!text.at(token).is("t") || !text.glued(token) || !text.glued(token + 1)) return;
  size_t at = token + 1;
  if (!read_time(text, at, date)) return;
  date.half_day = false;
  if (text.at(at).is(":") && text.glued(at)) at += 2;  // "00.123"
  if (text.at(at).is("z") && text.glued(at)) ++at;
  const bool zone = is_one_of(text.at(at).lower, {"+", "-"}) && text.glued(at);
  if (zone && text.at(at + 2).is(":") && integer(text, at + 3, 2) >= 0) at += 4;
  token = at;
}

// Reads "2024-03" and "2024/03", but not "2003-05", which may be two years.
bool read_year_and_month(const ReadText& text, size_t& token, Date& date) {
  const Token& mark = text.at(token + 1);
  date.year = year_at(text, token);
  date.month = integer(text, token + 2, 2);
  if (!date.has_year() || (!mark.is("-") && !mark.is("/")) || !text.glued(token + 1) ||
      !text.glued(token + 2) || text.at(token + 2).text.size() != 2 || date.month < 1 ||
      date.month > 12 || date.month > date.year % 100)
    return false;
  const auto goes_on = [&](size_t at) {
    return text.at(at).is("-") && text.glued(at) && text.glued(at + 1);
  };
  if (goes_on(token - 1) || goes_on(token + 3)) return false;  // "INV-2024-03"
  token += 3;
  return true;
}

// Reads "08/2026".
bool read_month_and_year(const ReadText& text, size_t& token, Date& date) {
  date.month = integer(text, token, 2);
  date.year = year_at(text, token + 2);
  if (!text.at(token).text.starts_with('0') || !text.at(token + 1).is("/") ||
      !text.glued(token + 1) || !text.glued(token + 2) || !date.has_year() || date.month < 1 ||
      (text.at(token - 1).is("/") && text.glued(token)))
    return false;
  token += 3;
  return true;
}

// Reads "2021-03-04", "2021/03/04", "03/04/2021", "3/4/21".
bool read_slashed(const ReadText& text, size_t& token, Date& date) {
  const std::string_view mark = text.at(token + 1).lower;
  if ((mark != "/" && mark != "-") || text.at(token + 3).lower != mark) return false;
  for (size_t i = token + 1; i <= token + 4; ++i) {
    if (!text.glued(i)) return false;
  }
  const int32_t a = integer(text, token, 4), b = integer(text, token + 2, 2),
                c = integer(text, token + 4, 4);
  const size_t last_digits = text.at(token + 4).text.size();
  const bool year_first = text.at(token).text.size() == 4;
  if (year_first) {
    date.year = a;
    date.month = b;
    date.day = c;
  } else if (last_digits == 4 || (last_digits == 2 && mark == "/")) {
    date.year = last_digits == 4 ? c : year_of_two_digits(c);
    date.month = date.other_day = a;
    date.day = date.other_month = b;
    if (date.month > 12) {
      std::swap(date.month, date.other_month);
      std::swap(date.day, date.other_day);
    }
    if (date.other_month > 12) date.other_month = date.other_day = -1;
  }
  if (a < 0 || c < 0 || date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31)
    return false;
  token += 5;
  if (year_first) take_iso_time(text, token, date);
  return true;
}

// Reads "04.03.2021", which is one token, and "4. 3. 2021".
bool read_dotted(const ReadText& text, size_t& token, Date& date) {
  const std::string_view written = text.at(token).text;
  const size_t month = written.find('.') + 1, year = written.find('.', month) + 1;
  const bool spaced = text.at(token + 1).is(".") && text.at(token + 3).is(".");
  if (spaced) {
    date.day = integer(text, token, 2);
    date.month = integer(text, token + 2, 2);
    date.year = integer(text, token + 4, 4);
  } else if (month > 0 && year > 0) {
    date.day = integer(written.substr(0, month - 1), 2);
    date.month = integer(written.substr(month, year - month - 1), 2);
    date.year = integer(written.substr(year), 4);
  }
  token += spaced ? 5 : 1;
  return date.day >= 1 && date.day <= 31 && date.month >= 1 && date.month <= 12 &&
         date.year >= 1000;
}

// True for "the 30s" and "90s music", but not for "a timeout of 30s".
bool names_decade(const ReadText& text, size_t token, int32_t digits) {
  if (token > 0 && is_one_of(text.at(token - 1).lower, {"the", "early", "late", "mid", "-", "'",
                                                        "’", "his", "her", "their", "my"}))
    return true;
  const size_t noun = token + 2;
  return digits >= 50 && text.at(noun).kind == TokenKind::kWord && !text.opens_sentence(noun);
}

// Reads "the 1990s", "1990's", "the nineties", "the '90s".
bool read_decade(const ReadText& text, size_t& token, Date& date) {
  date.years = 10;
  if (const int32_t decade = position(kDecades, text.at(token).lower); decade >= 0) {
    if (token == 0 || !is_one_of(text.at(token - 1).lower, {"the", "early", "late", "mid", "-"}))
      return false;
    date.year = 1920 + 10 * decade;
    ++token;
    return true;
  }
  const int32_t digits = integer(text, token, 4);
  const size_t width = text.at(token).text.size();
  if (digits < 0 || digits % 10 != 0 || (width != 4 && width != 2) || !text.glued(token + 1))
    return false;
  if (width == 2 && !names_decade(text, token, digits)) return false;
  size_t at = token + 1;
  if (is_one_of(text.at(at).lower, {"'", "’"}) && text.glued(at + 1)) ++at;
  if (!text.at(at).is("s")) return false;
  date.year = width == 4 ? digits : 1900 + digits;
  if (width == 4 && digits % 100 == 0 && digits != 2000) date.years = 100;  // "the 1800s"
  token = at + 1;
  return true;
}

// Reads "21st century", "nineteenth century BC".
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

void set_part(Date& date, int32_t number, bool half) {
  date.quarter = half ? number * 2 - 1 : number;
  date.quarters = half ? 2 : 1;
}

// Reads "Q3", "q3 2021", "H1 2021".
bool read_part_code(const ReadText& text, size_t& token, Date& date) {
  const std::string_view code = text.at(token).text;
  const bool half = code.starts_with('H');
  if (code.size() != 2 || !(half || code[0] == 'Q' || code[0] == 'q')) return false;
  const int32_t number = code[1] - '0';
  if (number < 1 || number > (half ? 2 : 4)) return false;
  set_part(date, number, half);
  size_t at = token + 1;
  take_year(text, at, date);
  if (half && !date.has_year()) return false;
  token = at;
  return true;
}

// Reads "the third quarter of 2021", "the first half of 2021".
bool read_quarter(const ReadText& text, size_t& token, Date& date) {
  const auto ordinal = read_quantity(text, token);
  if (!ordinal || !ordinal->ordinal) return false;
  size_t at = ordinal->last_token;
  const bool half = text.at(at).is("half");
  const double number = ordinal->readings[0].value;
  if ((!half && !text.at(at).is("quarter")) || number < 1 || number > (half ? 2 : 4)) return false;
  ++at;
  set_part(date, static_cast<int32_t>(number), half);
  take_year(text, at, date);
  if (half && !date.has_year()) return false;  // of a match
  token = at;
  return true;
}

// Reads "500 BC" and "AD 79".
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

// Reads "Mon" in a context, but not "the Sun", "Sun Microsystems" or "Sat down".
int32_t short_weekday(const ReadText& text, size_t token) {
  if (!text.is_context() || (token > 0 && text.at(token - 1).is("the"))) return -1;
  const Token& next = text.at(token + 1);
  const bool fits = next.kind != TokenKind::kWord || month_of(next.lower) >= 0 ||
                    weekday_in(kShortWeekdays, next.lower) >= 0 ||
                    is_one_of(next.lower, {"to", "and", "or", "from", "at", "open", "closed",
                                           "only", "morning", "afternoon", "evening", "night"});
  return fits ? weekday_in(kShortWeekdays, text.at(token).lower) : -1;
}

bool read_weekday(const ReadText& text, size_t& token, Date& date) {
  date.weekday = weekday_in(kWeekdays, text.at(token).lower);
  if (date.weekday < 0) date.weekday = short_weekday(text, token);
  if (date.weekday < 0 || !is_upper_start(text.at(token).text)) return false;
  ++token;
  if (text.is_context()) {  // "Sat 10-14": the numbers also count as numbers
    Date opening;
    if (read_unmarked_time(text, token + (text.at(token).is(":") ? 1 : 0), opening)) {
      date.minute = opening.minute;
      date.other_minute = opening.other_minute;
      date.half_day = opening.half_day;
    }
  }
  return true;
}

}  // namespace

std::optional<Date> read_date(const ReadText& text, size_t token) {
  using Reader = bool (*)(const ReadText&, size_t&, Date&);
  constexpr Reader kReaders[] = {
      read_slashed,   read_dotted,      read_year_and_month, read_month_and_year, read_time,
      read_day_first, read_month_first, read_century,        read_decade,         read_part_code,
      read_quarter,   read_era,         read_weekday,        read_announced_time};
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

}  // namespace signalbox::text
