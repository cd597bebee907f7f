#pragma once
// Reads dates, whole or in part: "March 3, 2021", "3rd of March", "2021-03-03", "03/04/2021",
// "2021-03", "the 1990s", "21st century", "Monday", "Q3 2021", "3:30 pm". A year without more is a
// number that may be a year; see Quantity::year.

#include <cstdint>
#include <optional>

#include "router/text/read_text.h"

namespace signalbox::text {

/// Parts that are not written are negative (kNoYear for the year).
struct Date {
  static constexpr int32_t kNoYear = INT32_MIN;

  uint32_t begin = 0, end = 0;               // bytes of the text
  uint32_t first_token = 0, last_token = 0;  // half-open
  int32_t year = kNoYear;                    // negative before Christ
  int32_t years = 1;                         // 10 for a decade, 100 for a century
  int32_t month = -1, day = -1;              // from 1
  int32_t other_month = -1, other_day = -1;  // the second reading of "03/04/2021"
  int32_t weekday = -1;                      // 0: Monday
  int32_t quarter = -1;                      // from 1
  int32_t quarters = 1;                      // 2 for a half of the year
  int32_t minute = -1;                       // of the day
  int32_t other_minute = -1;                 // the end of "9-17"
  bool half_day = false;                     // "3:30" without am or pm

  bool has_year() const { return year != kNoYear; }
};

std::optional<Date> read_date(const ReadText& text, size_t token);

/// True if `by` contains or implies every part of `date`.
bool follows_from(const Date& date, const Date& by);

/// True if no part of one contradicts the other.
bool agrees(const Date& a, const Date& b);

}  // namespace signalbox::text
