// Of the Gregorian calendar.

#include "router/safety/grounding/calendar.h"

#include <cmath>
#include <cstdlib>

namespace signalbox::grounding {
namespace {

constexpr double kSpanMost = 1000 * kYears.factor;
constexpr int32_t kClockMinutes = 1440;
constexpr int32_t kAnyYear = 2001;  // of two dates without one

bool has_day(const Date& date) {
  return date.month > 0 && date.day > 0;
}

int32_t year_of(const Date& date, const Date& other) {
  if (date.has_year()) return date.year;
  return other.has_year() ? other.year : kAnyYear;
}

// So many whole ones, or none.
std::optional<int32_t> whole(double count) {
  if (count < 1 || std::abs(count - std::round(count)) > 1e-6) return std::nullopt;
  return static_cast<int32_t>(std::round(count));
}

int64_t months_of(const Date& date, int32_t year) {
  return int64_t{12} * year + date.month;
}

}  // namespace

int64_t day_number(const Date& date, int32_t year) {
  const int64_t y = date.month <= 2 ? year - 1 : year;
  const int64_t m = (date.month + 9) % 12;
  return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + date.day - 1;
}

std::optional<int64_t> days_between(const Date& a, const Date& b) {
  if (!has_day(a) || !has_day(b)) return std::nullopt;
  return std::abs(day_number(a, year_of(a, b)) - day_number(b, year_of(b, a)));
}

std::optional<int32_t> months_between(const Date& a, const Date& b) {
  if (!has_day(a) || !has_day(b)) return std::nullopt;
  const int64_t months = std::abs(months_of(a, year_of(a, b)) - months_of(b, year_of(b, a)));
  // "1 January to 30 June": the next day is six months after the first.
  const bool first = a.day == 1 || b.day == 1, last = a.day >= 28 || b.day >= 28;
  if (a.day == b.day) return static_cast<int32_t>(months);
  if (first && last) return static_cast<int32_t>(months + 1);
  return std::nullopt;
}

bool is_apart(const Date& date, const Date& from, const Reading& span) {
  const double seconds = span.value * span.unit.factor;
  if (seconds <= 0 || seconds > kSpanMost) return false;
  if (date.minute >= 0) {
    const auto minutes = whole(seconds / 60);
    if (!minutes || from.minute < 0 || *minutes >= kClockMinutes) return false;
    const int32_t day = date.half_day || from.half_day ? kClockMinutes / 2 : kClockMinutes;
    const int32_t apart = (date.minute - from.minute + kClockMinutes) % day;
    return apart == *minutes % day || day - apart == *minutes % day;
  }
  const auto days = days_between(date, from);
  if (!days || (date.has_year() && !from.has_year())) return false;
  if (const auto months = whole(seconds / kInMonths.factor);
      months && span.unit.factor >= kInMonths.factor * 0.99) {
    const int64_t apart =
        std::abs(months_of(date, year_of(date, from)) - months_of(from, year_of(from, date)));
    const auto by_months = months_between(date, from);
    const bool day_less = std::abs(date.day - from.day) == 1 && apart == *months;
    return day_less || (by_months && *by_months == *months);
  }
  const auto count = whole(seconds / kInDays.factor);
  return count && std::abs(*days - *count) <= 1;
}

}  // namespace signalbox::grounding
