// Each pair of operands is combined once in every way that sentences reckon in.

#include "router/safety/grounding/shown.h"

#include <algorithm>
#include <cmath>

#include "router/safety/grounding/calendar.h"

namespace signalbox::grounding {
namespace {

constexpr double kPlainMin = 10;
constexpr uint32_t kPricedWithin = 4;  // tokens between a number and its price
constexpr int32_t kDayMinutes = 1440;
constexpr Unit kPercent = {Dimension::kShare, 0.01};

// Temperatures are added up as they are written.
bool add_up(const Unit& a, const Unit& b) {
  return a.dimension == Dimension::kTemperature ? a == b : may_add_up(a, b);
}

// Years are told apart by what they are added to.
bool is_operand(const Quantity& quantity) {
  return !quantity.ordinal && !quantity.year && quantity.readings[0].value != 0;
}

}  // namespace

Shown::Shown(std::span<const Quantity> quantities, std::span<const Date> dates, bool reckons)
    : reckons_(reckons), dates_(dates.begin(), dates.end()) {
  for (size_t i = 0; i < quantities.size(); ++i) {
    const Quantity& a = quantities[i];
    if (!is_operand(a)) continue;
    const Reading& first = a.readings[0];
    if (first.unit.dimension == Dimension::kTime) spans_.push_back(first);
    if (i + 1 < quantities.size()) add_priced(a, quantities[i + 1]);
    double sum = first.value;
    for (const Quantity& b : quantities.subspan(i + 1)) {
      if (!is_operand(b)) continue;
      add_pair(a, b);
      if (a.unit() == b.unit()) add(sum += b.readings[0].value, first.unit);
    }
  }
  for (size_t i = 0; i < dates.size(); ++i) {
    for (const Date& b : dates.subspan(i + 1)) add_spans(dates[i], b);
  }
  add_years(quantities);
  if (priced_of_ > 1) add(priced_, priced_unit_);
  values_.seal();
}

void Shown::add(double value, const Unit& unit) {
  if (unit.dimension != Dimension::kNone || (reckons_ && std::abs(value) >= kPlainMin))
    values_.add(value, unit);
}

void Shown::add_pair(const Quantity& a, const Quantity& b) {
  const Reading &x = a.readings[0], &y = b.readings[0];
  const bool plain_x = a.is_plain(), plain_y = b.is_plain();
  if (add_up(x.unit, y.unit)) {
    const double same = (y.unit.to_base(y.value) - x.unit.offset) / x.unit.factor;
    add_alike(x.value, same, x.unit);
    add_shares(x.value, same);
    add_ratio(x.value, same, x.unit);
  } else if (reckons_ && plain_x != plain_y) {  // "31.5 cents rather than 34"
    const Unit& unit = plain_x ? y.unit : x.unit;
    add_alike(x.value, y.value, unit);
    if (!a.fraction && !b.fraction) add_shares(x.value, y.value);
  }
  if (plain_x) add(x.value * y.value, y.unit);
  if (plain_y) add(x.value * y.value, x.unit);
  // Of each: by a number, or money by what it is paid for.
  const auto divide = [&](const Reading& all, const Reading& by, bool plain) {
    if (by.value > 1 && (plain || (is_money(all.unit) && !is_money(by.unit))))
      add(all.value / by.value, all.unit);
  };
  divide(x, y, plain_y);
  divide(y, x, plain_x);
  if (x.unit.dimension == Dimension::kTime && is_money(y.unit)) add(x.value * y.value, y.unit);
  if (y.unit.dimension == Dimension::kTime && is_money(x.unit)) add(x.value * y.value, x.unit);
  if (x.unit.dimension == Dimension::kShare) add_share_of(x.unit.to_base(x.value), y);
  if (y.unit.dimension == Dimension::kShare) add_share_of(y.unit.to_base(y.value), x);
}

// "two at €11.50 plus two at €7".
void Shown::add_priced(const Quantity& a, const Quantity& b) {
  if (!a.is_plain() || !is_money(b.unit()) || b.first_token > a.last_token + kPricedWithin ||
      b.first_token < a.last_token || (priced_of_ > 0 && !add_up(priced_unit_, b.unit())))
    return;
  priced_ += a.readings[0].value * b.readings[0].value;
  priced_unit_ = b.unit();
  ++priced_of_;
}

void Shown::add_alike(double x, double y, const Unit& unit) {
  add(x + y, unit);
  add(x - y, unit);
  add(y - x, unit);
}

// How often one goes into the other: five glasses of 15 cl in a bottle of 75 cl.
void Shown::add_ratio(double x, double y, const Unit& unit) {
  if (unit.dimension == Dimension::kNone || x * y <= 0) return;
  const double ratio = std::max(x, y) / std::min(x, y);
  if (ratio > 1.5 && std::abs(ratio - std::round(ratio)) < 1e-6) values_.add(std::round(ratio), {});
}

// What part one is of the other, and by how much one is more or less.
void Shown::add_shares(double x, double y) {
  const double least = std::min(x, y), most = std::max(x, y);
  if (least <= 0) return;
  add(100 * least / most, kPercent);
  add(100 * (most - least) / least, kPercent);
  add(100 * (most - least) / most, kPercent);
  if (reckons_ && most > least) add(100 * least / (most - least), kPercent);  // "grew by 27 to 412"
}

void Shown::add_share_of(double part, const Reading& whole) {
  if (whole.unit.dimension == Dimension::kShare) return;
  add(whole.value * part, whole.unit);
  add(whole.value * (1 - part), whole.unit);
  add(whole.value * (1 + part), whole.unit);
}

void Shown::add_spans(const Date& a, const Date& b) {
  if (a.minute >= 0 && b.minute >= 0) {
    const int32_t day = a.half_day || b.half_day ? kDayMinutes / 2 : kDayMinutes;
    const int32_t minutes = (b.minute - a.minute + kDayMinutes) % day;
    values_.add(minutes, kInMinutes);
    values_.add(day - minutes, kInMinutes);
  }
  const auto days = days_between(a, b);
  if (!days) return;
  values_.add(static_cast<double>(*days), kInDays);
  values_.add(static_cast<double>(*days + 1), kInDays);
  if (const auto months = months_between(a, b)) values_.add(*months, kInMonths);
}

// A year less where the months may be the other way round.
void Shown::add_years(std::span<const Quantity> quantities) {
  std::vector<int32_t> years;
  for (const Quantity& quantity : quantities) {
    if (quantity.year) years.push_back(static_cast<int32_t>(quantity.readings[0].value));
  }
  for (const Date& date : dates_) {
    if (date.has_year() && date.years == 1) years.push_back(date.year);
  }
  for (size_t i = 0; i < years.size(); ++i) {
    for (size_t j = i + 1; j < years.size(); ++j) {
      for (const int32_t span :
           {std::abs(years[i] - years[j]), std::abs(years[i] - years[j]) - 1}) {
        if (span <= 0) continue;
        values_.add(span, kYears);
        if (span >= kPlainMin) values_.add(span, {});  // "she was 27"
      }
    }
  }
}

bool Shown::gives(const Quantity& quantity) const {
  return !quantity.ordinal && !quantity.year && values_.hold(quantity.readings[0], quantity, false);
}

bool Shown::gives(const Date& date) const {
  return std::ranges::any_of(dates_, [&](const Date& from) {
    return std::ranges::any_of(spans_,
                               [&](const Reading& span) { return is_apart(date, from, span); });
  });
}

}  // namespace signalbox::grounding
