#pragma once
// Arithmetic on dates and times of day.

#include <cstdint>
#include <optional>

#include "router/safety/grounding/date.h"
#include "router/safety/grounding/number.h"

namespace signalbox::grounding {

/// Days since an epoch, of a date with month and day, in this year.
int64_t day_number(const Date& date, int32_t year);

/// Between two dates with month and day, in days; a year that one lacks is the other's. Whole
/// months, a last day counted in or not.
std::optional<int64_t> days_between(const Date& a, const Date& b);
std::optional<int32_t> months_between(const Date& a, const Date& b);

/// Whether a day or a time of day is the span, of time, before or after another; of days and more,
/// a day less or more.
bool is_apart(const Date& date, const Date& from, const Reading& span);

}  // namespace signalbox::grounding
