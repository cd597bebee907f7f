// Compares two dates part by part.

#include "router/text/date.h"

namespace signalbox::text {
namespace {

// Sakamoto's method for the day of the week; 0 is Monday.
constexpr int32_t kShift[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};

int32_t weekday_of(int32_t year, int32_t month, int32_t day) {
  const int32_t y = month < 3 ? year - 1 : year;
  return (y + y / 4 - y / 100 + y / 400 + kShift[month - 1] + day + 6) % 7;
}

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

}  // namespace signalbox::text
