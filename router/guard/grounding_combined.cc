// Every result near the figure that is asked about takes a place among all that could be written
// there. The share of taken places is the chance that a made-up figure meets one.

#include "router/guard/grounding_combined.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "router/guard/grounding_calendar.h"

namespace signalbox::router::grounding {
namespace {

constexpr size_t kFiguresMax = 64;  // different ones, and as many dates
constexpr double kNear = 2;         // from half of the figure to its double
constexpr double kSame = 1e-6;      // what decimal fractions and factors of units lose
// How near to a ratio is meant by its word: the same; without and with "about".
constexpr double kExact = 1e-4, kNearly = 0.01, kRoughly = 0.06;
constexpr double kWeek = 7;
constexpr double kDaysOfYear = 365;
constexpr int32_t kDay = 1440, kHalfDay = kDay / 2, kTick = 5;  // minutes; times are mostly of five

bool is_plain(const Unit& unit) {
  return unit.dimension == Dimension::kNone;
}

bool is_share(const Unit& unit) {
  return unit.dimension == Dimension::kShare;
}

bool is_money(const Unit& unit) {
  return unit.dimension == Dimension::kMoney;
}

// Whether values of the two may be added up, or be the same.
bool alike(const Unit& a, const Unit& b) {
  return a.dimension == b.dimension &&
         (a.dimension != Dimension::kMoney || may_be_currency(a.currency, b.currency));
}

// How many of the last digit a value is a multiple of: 1,000 of 3,000, 50 of 250, 1 of 97. Round
// figures are made up more often than others, and met more often.
int64_t roundness(int64_t value) {
  int64_t out = 1;
  while (value >= 10 && value % 10 == 0) {
    value /= 10;
    out *= 10;
  }
  return value > 5 && value % 5 == 0 ? out * 5 : out;
}

// A figure as a place among those that could stand there instead, as round as it is.
struct Places {
  double value = 0, step = 1;  // of the last digit
  bool rounded = false;        // what lies between two places is the nearer one's
  int64_t apart = 1;           // steps between two places

  // Of a value: its place, or none.
  std::optional<int64_t> at(double other) const {
    const double steps = other / step;
    if (!rounded && std::abs(steps - std::round(steps)) > kSame * std::max(1.0, steps))
      return std::nullopt;
    const int64_t whole = std::llround(steps);
    if (whole % apart != 0) return std::nullopt;
    return whole / apart;
  }
  double count() const { return value * (kNear - 1 / kNear) / (step * static_cast<double>(apart)); }
};

Places places_of(const Quantity& quantity) {
  const Reading& reading = quantity.readings[0];
  Places out{.value = std::abs(reading.value * reading.unit.factor),
             .step = reading.step * reading.unit.factor};
  const bool hedged = quantity.hedge != Hedge::kNone;
  out.rounded = hedged || quantity.scaled || reading.step < 1 || is_share(reading.unit);
  const int64_t apart = roundness(std::llround(out.value / out.step));
  if (hedged) {
    out.step *= static_cast<double>(apart);
  } else {
    out.apart = apart;
  }
  return out;
}

// The places near a figure that results have taken.
class Taken {
 public:
  explicit Taken(const Places& places) : places_(places), asked_(places.at(places.value)) {}

  void add(double result) {
    if (result < places_.value / kNear || result > places_.value * kNear) return;
    if (const auto place = places_.at(result)) taken_.push_back(*place);
  }

  // Whether the figure's own place is among them, and those taken are few.
  bool hold_asked(double chance) {
    if (!asked_ || places_.value <= 0) return false;
    std::ranges::sort(taken_);
    if (!std::ranges::binary_search(taken_, *asked_)) return false;
    const auto different = std::unique(taken_.begin(), taken_.end()) - taken_.begin();
    return static_cast<double>(different) <= chance * places_.count();
  }

 private:
  Places places_;
  std::optional<int64_t> asked_;
  std::vector<int64_t> taken_;
};

}  // namespace

void Combined::add(const Quantity& quantity) {
  const Reading& reading = quantity.readings[0];
  if (quantity.ordinal || quantity.vague || reading.value == 0) return;
  add(Operand{reading.value, reading.unit, quantity.year});
}

void Combined::add(const Operand& operand) {
  if (std::ranges::find(operands_, operand) != operands_.end()) return;
  too_many_ = too_many_ || operands_.size() == kFiguresMax;
  if (!too_many_) operands_.push_back(operand);
}

void Combined::add(const Date& date) {
  const auto same = [&](const Date& other) {
    return other.year == date.year && other.month == date.month && other.day == date.day &&
           other.minute == date.minute && other.weekday == date.weekday;
  };
  if (std::ranges::any_of(dates_, same)) return;
  too_many_ = too_many_ || dates_.size() == kFiguresMax;
  if (!too_many_) dates_.push_back(date);
  if (date.has_year() && date.years == 1) add(Operand{static_cast<double>(date.year), {}, true});
}

void Combined::add_named(const Unit& unit) {
  named_.push_back(unit);
}

// The operand in the unit that is asked for, where it is plain and the unit is named elsewhere.
Combined::Operand Combined::as_named(const Operand& operand, const Unit& unit) const {
  const bool named = std::ranges::any_of(
      named_, [&](const Unit& each) { return each.factor == unit.factor && alike(each, unit); });
  if (!named || !is_plain(operand.unit) || operand.year) return operand;
  return {operand.value, unit, false};
}

template <class Take>
void Combined::each_of_pair(const Unit& unit, const Operand& a, const Operand& b, Take take) {
  const double x = a.size(), y = b.size();
  if (alike(a.unit, b.unit)) {
    if (alike(a.unit, unit)) {
      if (unit.dimension != Dimension::kTemperature) take(x + y);
      take(std::abs(a.unit.to_base(a.value) - b.unit.to_base(b.value)));
    }
    const double least = std::min(x, y), most = std::max(x, y);
    if (least > 0 && is_share(unit) && !is_share(a.unit)) {
      take(least / most);
      take((most - least) / least);
      take((most - least) / most);
    }
    if (least > 0 && is_plain(unit)) take(most / least);
    if (is_plain(unit) && is_plain(a.unit)) take(x * y);
    return;
  }
  const auto of = [&](const Operand& all, const Operand& part) {
    if (!alike(all.unit, unit)) return;
    if (is_share(part.unit)) {
      for (const double times : {part.size(), 1 - part.size(), 1 + part.size()})
        take(all.size() * times);
    } else if (is_plain(part.unit)) {
      take(all.size() * part.value);
      if (part.value > 1) take(all.size() / part.value);
    } else if (is_money(all.unit)) {  // 3,000 kWh at 31.4 cents
      take(all.size() * part.value);
    }
  };
  of(a, b);
  of(b, a);
}

// Seconds.
template <class Take>
void Combined::each_span(Take take) const {
  for (size_t i = 0; i < dates_.size(); ++i) {
    for (size_t j = i + 1; j < dates_.size(); ++j) {
      const Date &a = dates_[i], &b = dates_[j];
      if (a.minute >= 0 && b.minute >= 0) {
        const int32_t minutes = std::abs(a.minute - b.minute);
        take(60.0 * minutes);
        take(60.0 * (kDay - minutes));
        if (a.half_day != b.half_day) take(60.0 * std::abs(minutes - kHalfDay));
      }
      if (const auto days = days_between(a, b)) {
        take(static_cast<double>(*days) * kInDays.factor);
        take(static_cast<double>(*days + 1) * kInDays.factor);
      }
    }
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    for (size_t j = i + 1; j < operands_.size(); ++j) {
      if (!operands_[i].year || !operands_[j].year) continue;
      const double years = std::abs(operands_[i].value - operands_[j].value);
      take(years * kYears.factor);
      take((years - 1) * kYears.factor);  // the months may be the other way round
    }
  }
}

template <class Take>
void Combined::each_result(const Unit& unit, Take take) const {
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand a = as_named(operands_[i], unit);
    if (a.year) continue;
    if (alike(a.unit, unit)) {
      if (is_share(unit)) take(1 - a.size());
    }
    for (size_t j = i + 1; j < operands_.size(); ++j) {
      if (!operands_[j].year) each_of_pair(unit, a, as_named(operands_[j], unit), take);
    }
  }
  if (unit.dimension == Dimension::kTime) each_span(take);
}

bool Combined::gives(const Quantity& quantity, double chance) const {
  if (too_many_ || quantity.ordinal || quantity.year || quantity.fraction) return false;
  Taken taken(places_of(quantity));
  each_result(quantity.unit(), [&](double result) { taken.add(result); });
  return taken.hold_asked(chance);
}

// Exactly, or as nearly as a word for it can be meant.
bool Combined::gives_ratio(const Quantity& quantity, double chance) const {
  if (too_many_) return false;
  const double value = quantity.readings[0].value;
  const auto holds = [&](double exactness) {
    Taken taken({.value = value, .step = exactness * value, .rounded = true});
    for (size_t i = 0; i < operands_.size(); ++i) {
      for (size_t j = i + 1; j < operands_.size(); ++j) {
        const Operand &a = operands_[i], &b = operands_[j];
        if (a.year || b.year || !alike(a.unit, b.unit) || a.size() * b.size() <= 0) continue;
        taken.add(a.size() / b.size());
        taken.add(b.size() / a.size());
      }
    }
    return taken.hold_asked(chance);
  };
  return holds(kExact) || holds(quantity.hedge == Hedge::kNone ? kNearly : kRoughly);
}

bool Combined::gives(const Date& date, double chance) const {
  if (too_many_) return false;
  if (date.minute >= 0) return gives_time(date, chance);
  return date.month > 0 && date.day > 0 && (gives_day(date, chance) || gives_weekday(date, chance));
}

// So long before or after another time of day.
bool Combined::gives_time(const Date& date, double chance) const {
  const bool half = std::ranges::any_of(dates_, &Date::half_day) || date.half_day;
  const int32_t day = half ? kHalfDay : kDay;
  std::vector<int32_t> reached;
  for (const Date& from : dates_) {
    if (from.minute < 0) continue;
    for (const Operand& span : operands_) {
      const double minutes = span.size() / 60;
      if (span.unit.dimension != Dimension::kTime || minutes < 1 || minutes >= kDay) continue;
      const auto by = static_cast<int32_t>(std::lround(minutes));
      reached.push_back((from.minute + by) % day);
      reached.push_back((from.minute - by + kDay) % day);
    }
  }
  std::ranges::sort(reached);
  if (!std::ranges::binary_search(reached, date.minute % day)) return false;
  const auto different = std::unique(reached.begin(), reached.end()) - reached.begin();
  const double places = static_cast<double>(day) / (date.minute % kTick == 0 ? kTick : 1);
  return static_cast<double>(different) <= chance * places;
}

bool Combined::gives_day(const Date& date, double chance) const {
  size_t reached = 0;
  bool given = false;
  for (const Date& from : dates_) {
    if (from.month < 0 || from.day < 0) continue;
    Date to = date;
    if (!from.has_year()) to.year = Date::kNoYear;
    for (const Operand& span : operands_) {
      if (span.unit.dimension != Dimension::kTime || span.size() < kInDays.factor) continue;
      reached += 2;
      given = given || is_apart(to, from, {span.value, 1, span.unit});
    }
  }
  return given && static_cast<double>(reached) <= chance * kDaysOfYear;
}

// "By Thursday" of a letter of 4 March: the 6th.
bool Combined::gives_weekday(const Date& date, double chance) const {
  size_t reached = 0;
  bool given = false;
  for (const Date& from : dates_) {
    if (from.month < 0 || from.day < 0 || !from.has_year()) continue;
    const int32_t year = date.has_year() ? date.year : from.year;
    const int32_t weekday = weekday_of(year, date.month, date.day);
    const auto days = days_between(date, from);
    for (const Date& named : dates_) {
      if (named.weekday < 0 || named.day > 0) continue;
      reached += 2;
      given = given || (named.weekday == weekday && days && static_cast<double>(*days) <= kWeek &&
                        (date.weekday < 0 || date.weekday == weekday));
    }
  }
  return given && static_cast<double>(reached) <= chance * kDaysOfYear;
}

}  // namespace signalbox::router::grounding
