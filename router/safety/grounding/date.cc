// One reader a form, tried in the order in which one would hide another.

#include "router/safety/grounding/date.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "router/safety/grounding/number.h"
#include "router/safety/grounding/numeral.h"
#include "router/safety/grounding/time.h"

namespace signalbox::grounding {
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
constexpr auto kShortWeekdays = std::to_array<NamedNumber>({{"mon", 0},
                                                            {"tue", 1},
                                                            {"tues", 1},
                                                            {"wed", 2},
                                                            {"thu", 3},
                                                            {"thur", 3},
                                                            {"thurs", 3},
                                                            {"fri", 4},
                                                            {"sat", 5},
                                                            {"sun", 6}});
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

// The value of digits and nothing else, of at most `most`; -1 otherwise.
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

// "2021".
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

// The token after the last day of "5-7" or "5 to 7", of which `token` is behind the first.
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
  const int32_t month = find(kMonths, word.lower);
  if (month < 0) return -1;
  ++token;
  if (text.at(token).is(".") && text.glued(token) && word.text.size() <= 4) ++token;
  return month;
}

int32_t year_of_two_digits(int32_t digits) {
  return digits + (digits < 70 ? 2000 : 1900);
}

// "24", "2024".
int32_t short_year(std::string_view digits) {
  const int32_t year = integer(digits, 4);
  if (digits.size() == 2 && year >= 0) return year_of_two_digits(year);
  return digits.size() == 4 && year >= 1900 && year < 2200 ? year : Date::kNoYear;
}

// ", 2021" or " 2021" or " of 2021" or " '21".
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

// The "7, 2025" of "March 5-7, 2025".
bool read_last_day(const ReadText& text, size_t& token, Date& date) {
  if (token < 3 || !is_dash(text.at(token - 1)) || text.at(token).kind != TokenKind::kNumber)
    return false;
  size_t first = token - 2;
  if (is_one_of(text.at(first).lower, {"st", "nd", "rd", "th"})) --first;
  size_t month = first - 1;
  if (text.at(month).is(".")) --month;
  if (!is_upper_start(text.at(month).text) || integer(text, first, 2) < 1) return false;
  date.month = month_at(text, month);
  size_t at = token;
  date.day = day_at(text, at);
  if (date.month < 0 || month != first || date.day <= integer(text, first, 2)) return false;
  take_year(text, at, date);
  token = at;
  return true;
}

// "3 March 2021", "3rd of March", "the third of March, 2021"; of "3-5 March 2021" the 3.
bool read_day_first(const ReadText& text, size_t& token, Date& date) {
  size_t at = token;
  date.day = day_at(text, at);
  if (date.day < 0) return false;
  const size_t first_end = at;
  const auto last_end = end_of_days(text, at, date.day);
  if (last_end) at = *last_end;
  if (text.at(at).is("of")) ++at;
  if (text.at(at).is("-")) ++at;
  if (!is_upper_start(text.at(at).text) && find(kMonths, text.at(at).lower) == 5) return false;
  date.month = month_at(text, at);
  if (date.month < 0) return false;
  if (text.at(at).is("-")) ++at;
  take_year(text, at, date);
  token = last_end ? first_end : at;
  return true;
}

// Behind a day in digits: "T14:30:00Z", "T14:30+01:00".
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

// "2024-03", "2024/03"; what may as well be two years ("2003-05") is no month.
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

// "08/2026"; without the zero only of a context, and there at the mark: "12/2011" are numbers too.
bool read_month_and_year(const ReadText& text, size_t& token, Date& date) {
  const bool at_mark = text.at(token).is("/");
  if (at_mark && !text.offers()) return false;
  const size_t month = at_mark ? token - 1 : token, mark = month + 1;
  date.month = integer(text, month, 2);
  date.year = year_at(text, mark + 1);
  if (!text.at(mark).is("/") || !text.glued(mark) || !text.glued(mark + 1) || !date.has_year() ||
      date.month < 1 || date.month > 12 || (text.at(month - 1).is("/") && text.glued(month)))
    return false;
  if (!at_mark && text.at(month).text[0] != '0') return false;
  token = at_mark ? token + 1 : mark + 2;
  return true;
}

// The "/99" of "1998/99".
bool read_next_year(const ReadText& text, size_t& token, Date& date) {
  if (!text.at(token).is("/") || token == 0 || !text.glued(token) || !text.glued(token + 1))
    return false;
  const int32_t before = year_at(text, token - 1), year = integer(text, token + 1, 2);
  if (before == Date::kNoYear || text.at(token + 1).text.size() != 2 || year != (before + 1) % 100)
    return false;
  date.year = before + 1;
  token += 2;
  return true;
}

// "FY2024", "FY24".
bool read_fiscal_year(const ReadText& text, size_t& token, Date& date) {
  const Token& word = text.at(token);
  if (word.kind != TokenKind::kIdentifier || !word.lower.starts_with("fy")) return false;
  date.year = short_year(word.lower.substr(2));
  ++token;
  return date.has_year();
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
      date.year = year_digits == 4 ? c : year_of_two_digits(c);
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
    if (year_first) take_iso_time(text, token, date);
    return true;
  }
  if (mark == "." && text.at(token + 3).is(".") &&
      text.at(token + 4).text.size() == 4) {  // "4. 3. 2021"
    date.day = integer(text, token, 2);
    date.month = integer(text, token + 2, 2);
    date.year = integer(text, token + 4, 4);
    token += 5;
    return date.day >= 1 && date.day <= 31 && date.month >= 1 && date.month <= 12 && date.year > 0;
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

// "the 30s", "her 30s", "90s music"; in "a timeout of 30s" they are seconds.
bool names_decade(const ReadText& text, size_t token, int32_t digits) {
  if (token > 0 && is_one_of(text.at(token - 1).lower, {"the", "early", "late", "mid", "-", "'",
                                                        "’", "his", "her", "their", "my"}))
    return true;
  const size_t noun = token + 2;
  return digits >= 50 && text.at(noun).kind == TokenKind::kWord && !text.opens_sentence(noun);
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
  if (width == 2 && !names_decade(text, token, digits)) return false;
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

// A quarter or a half of a year.
void set_part(Date& date, int32_t number, bool half) {
  date.quarter = half ? number * 2 - 1 : number;
  date.quarters = half ? 2 : 1;
}

// "Q3", "H1" and "1Q24", "1H 2024", which is several tokens; the year behind the first.
bool read_part_code(const ReadText& text, size_t& token, Date& date) {
  const Token& first = text.at(token);
  size_t at = token + 1;
  const bool before = first.kind == TokenKind::kNumber && text.glued(at);  // "1Q"
  const std::string_view code = before ? text.at(at).text : first.text;
  if (code.empty() || (!before && code.size() != 2)) return false;
  const bool half = code[0] == 'H';
  if (!half && code[0] != 'Q' && (before || code[0] != 'q')) return false;
  const char digit = before ? first.text[0] : code[1];
  if (digit < '1' || digit > (half ? '2' : '4') || (before && first.text.size() != 1)) return false;
  set_part(date, digit - '0', half);
  if (before) {
    ++at;
    const bool apart = code.size() == 1;  // "1H24", where the tokenizer parts it; not "1Q24"
    date.year = short_year(!apart           ? code.substr(1)
                           : text.glued(at) ? text.at(at).text
                                            : std::string_view());
    if (!apart && !date.has_year()) return false;
    if (apart && date.has_year()) ++at;
  }
  if (!date.has_year()) take_year(text, at, date);
  if (!date.has_year() && (before || half)) return false;
  token = at;
  return true;
}

// "Q3 2021", "the third quarter of 2021", "the first half of 2021".
bool read_quarter(const ReadText& text, size_t& token, Date& date) {
  if (read_part_code(text, token, date)) return true;
  date = {};
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

// "Mon", "Sat" of a context; no "Sun Microsystems", "the Sun", "Sat down".
int32_t short_weekday(const ReadText& text, size_t token) {
  if (!text.offers() || (token > 0 && text.at(token - 1).is("the"))) return -1;
  const Token& next = text.at(token + 1);
  const bool fits = next.kind != TokenKind::kWord || find(kMonths, next.lower) >= 0 ||
                    find(kShortWeekdays, next.lower) >= 0 ||
                    is_one_of(next.lower, {"to", "and", "or", "from", "at", "open", "closed",
                                           "only", "morning", "afternoon", "evening", "night"});
  return fits ? find(kShortWeekdays, text.at(token).lower) : -1;
}

bool read_weekday(const ReadText& text, size_t& token, Date& date) {
  date.weekday = find(kWeekdays, text.at(token).lower);
  if (date.weekday < 0) date.weekday = short_weekday(text, token);
  if (date.weekday < 0 || !is_upper_start(text.at(token).text)) return false;
  ++token;
  if (text.offers()) {  // "Sat 10-14", of which the numbers stay numbers
    Date opening;
    if (read_unmarked_time(text, token + (text.at(token).is(":") ? 1 : 0), opening)) {
      date.minute = opening.minute;
      date.other_minute = opening.other_minute;
      date.half_day = opening.half_day;
    }
  }
  return true;
}

// Days before a month in the proleptic calendar, Sakamoto's method.
constexpr int32_t kShift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};

int32_t quarter_of(const Date& date) {
  if (date.quarter > 0) return date.quarter;
  return date.month > 0 ? (date.month - 1) / 3 + 1 : -1;
}

bool same_quarter(const Date& date, const Date& by) {
  return quarter_of(by) >= date.quarter &&
         quarter_of(by) + by.quarters <= date.quarter + date.quarters;
}

bool same_year(const Date& date, const Date& by) {
  return by.year >= date.year && by.year + by.years <= date.year + date.years;
}

bool same_minute(const Date& a, const Date& b) {
  const int32_t day = a.half_day || b.half_day ? 720 : 1440;
  const auto same = [&](int32_t x, int32_t y) { return x >= 0 && y >= 0 && x % day == y % day; };
  return same(a.minute, b.minute) || same(a.other_minute, b.minute) ||
         same(a.minute, b.other_minute);
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
  constexpr Reader kReaders[] = {read_digits_only, read_year_and_month, read_month_and_year,
                                 read_next_year,   read_time,           read_last_day,
                                 read_day_first,   read_month_first,    read_century,
                                 read_decade,      read_quarter,        read_fiscal_year,
                                 read_era,         read_weekday,        read_announced_time};
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
  if (date.quarter > 0 && !same_quarter(date, by)) return false;
  if (date.minute >= 0 && (by.minute < 0 || !same_minute(date, by))) return false;
  if (date.weekday < 0 || date.weekday == by.weekday) return true;
  return by.has_year() && by.years == 1 && by.month > 0 && by.day > 0 &&
         weekday_of(by.year, by.month, by.day) == date.weekday;
}

bool agrees(const Date& a, const Date& b) {
  if (a.has_year() && b.has_year() && !same_year(a, b) && !same_year(b, a)) return false;
  if (!same_day(a, b, false)) return false;
  if (a.quarter > 0 && quarter_of(b) > 0 && !same_quarter(a, b) && !same_quarter(b, a))
    return false;
  if (a.minute >= 0 && b.minute >= 0 && !same_minute(a, b)) return false;
  return a.weekday < 0 || b.weekday < 0 || a.weekday == b.weekday;
}

}  // namespace signalbox::grounding
