// Every result near the figure that is asked about takes a place among all that could be written
// there. The share of taken places is the chance that a made-up figure meets one.

#include "router/safety/grounding/combined.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "router/safety/grounding/calendar.h"

namespace signalbox::grounding {
namespace {

constexpr size_t kKeptMax = 512;    // different figures that are kept, and as many dates
constexpr size_t kFiguresMax = 64;  // that are combined: those that can give a unit
constexpr size_t kCombinedDatesMax = 48;
constexpr size_t kUnitsMax = 16;      // units that plain figures may be of
constexpr size_t kOftenMax = 12;      // of which any may go into another so many times
constexpr size_t kFew = 4;            // figures that can give only a few values
constexpr double kNear = 2;           // from half of the figure to its double
constexpr double kSame = 1e-6;        // what decimal fractions and factors of units lose, in steps
constexpr double kStepsMax = 4.5e15;  // that a double can count one by one
// How near to a ratio is meant by its word, where it is not the same: without and with "about".
constexpr double kNearly = 0.01, kRoughly = 0.06;
constexpr int kPartsMax = 10, kMultipleMax = 40;  // of the ratios that are counted: p / 10 to 40
constexpr double kCountMin = 2, kCountMax = 60;
constexpr int64_t kWeek = 7, kDaysMin = 30;
constexpr double kSpanDaysMax = 40000;
constexpr int32_t kSomeYear = 2001;                                     // of two dates without one
constexpr int32_t kMinutes = 1440, kHalfDay = kMinutes / 2, kTick = 5;  // times are mostly of five

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

  // Of a value near it: its place, or none.
  std::optional<int64_t> at(double other) const {
    const double steps = other / step;
    if (!rounded && std::abs(steps - std::round(steps)) > kSame) return std::nullopt;
    const int64_t whole = std::llround(steps);
    if (whole % apart != 0) return std::nullopt;
    return whole / apart;
  }
  double count() const { return value * (kNear - 1 / kNear) / (step * static_cast<double>(apart)); }
};

// None where there are no digits to count.
std::optional<Places> places_of(const Quantity& quantity) {
  const Reading& reading = quantity.readings[0];
  Places out{.value = std::abs(reading.value * reading.unit.factor),
             .step = reading.step * reading.unit.factor};
  if (!(out.step > 0) || !(out.value > 0) || !(out.value / out.step < kStepsMax))
    return std::nullopt;
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

// Whether what is taken is little enough, of so many places.
bool is_rare(std::vector<int64_t>& taken, double places, Combined::Chance chance) {
  std::ranges::sort(taken);
  const auto different = std::unique(taken.begin(), taken.end()) - taken.begin();
  return static_cast<double>(different) <= chance.most * places || (chance.alone && different == 1);
}

// The places near a figure that results have taken.
class Taken {
 public:
  explicit Taken(const Places& places)
      : places_(places), asked_(std::llround(places.value / places.step) / places.apart) {}

  void add(double result) {
    if (!(result >= places_.value / kNear && result <= places_.value * kNear)) return;
    const double off = std::abs(result - places_.value) / places_.step;
    if (off <= (places_.rounded ? 0.5 : 0) + kSame) {  // a half is rounded either way
      met_ = true;
      taken_.push_back(asked_);
    } else if (const auto place = places_.at(result)) {
      taken_.push_back(*place);
    }
  }

  bool hold_asked(Combined::Chance chance) {
    return met_ && is_rare(taken_, places_.count(), chance);
  }

 private:
  Places places_;
  int64_t asked_;
  bool met_ = false;
  std::vector<int64_t> taken_;
};

// Ratios of small numbers, ascending: what a word for a part or a multiple could say instead.
const std::vector<double>& named_ratios() {
  static const std::vector<double> kNamed = [] {
    std::vector<double> out;
    for (int parts = 1; parts <= kPartsMax; ++parts) {
      for (int of = 1; of <= parts * kMultipleMax; ++of)
        out.push_back(static_cast<double>(of) / parts);
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }();
  return kNamed;
}

// Areas of lengths, speeds of lengths and times.
bool is_made_of(const Unit& unit, const Unit& part) {
  return (part.dimension == Dimension::kLength &&
          (unit.dimension == Dimension::kArea || unit.dimension == Dimension::kSpeed)) ||
         (part.dimension == Dimension::kTime && unit.dimension == Dimension::kSpeed);
}

bool is_near(double each, double value) {
  const bool part = each < 1;  // which is said otherwise than a multiple
  return each >= value / kNear && each <= value * kNear && part == (value < 1);
}

bool hold(const std::vector<double>& ratios, double asked) {
  return std::ranges::any_of(ratios,
                             [&](double each) { return std::abs(each - asked) <= kSame * asked; });
}

}  // namespace

void Combined::add(const Quantity& quantity) {
  const Reading& reading = quantity.readings[0];
  if (quantity.ordinal || quantity.vague || reading.value == 0) return;
  add(Operand{reading.value, reading.unit, quantity.year});
}

void Combined::add(const Operand& operand) {
  if (operands_.size() < kKeptMax && std::ranges::find(operands_, operand) == operands_.end())
    operands_.push_back(operand);
}

void Combined::add(const Date& date) {
  const auto same = [&](const Date& other) {
    return other.year == date.year && other.month == date.month && other.day == date.day &&
           other.minute == date.minute && other.weekday == date.weekday;
  };
  if (dates_.size() == kKeptMax || std::ranges::any_of(dates_, same)) return;
  dates_.push_back(date);
  if (date.has_year() && date.years == 1) add(Operand{static_cast<double>(date.year), {}, true});
}

void Combined::add_named(const Unit& unit) {
  if (named_.size() < kUnitsMax && std::ranges::find(named_, unit) == named_.end())
    named_.push_back(unit);
}

// Those that give the unit, alone or with another: of the unit, plain, shares; of shares all; what
// money is paid for, if there is room; and how often any goes into another, of a few. Plain ones
// are taken to be of the unit where it is named.
std::vector<Combined::Operand> Combined::that_give(const Unit& unit) const {
  const bool named = std::ranges::any_of(named_, [&](const Unit& each) {
    return each.factor == unit.factor && may_add_up(each, unit);
  });
  std::vector<Operand> out, others;
  for (const Operand& operand : operands_) {
    if (operand.year) continue;
    const bool plain = is_plain(operand.unit);
    if (may_add_up(operand.unit, unit) || plain || is_share(operand.unit) || is_share(unit) ||
        is_made_of(unit, operand.unit)) {
      out.push_back(operand);
      if (plain && named) out.back().unit = unit;
    } else if (is_money(unit) || is_plain(unit) || rates_) {
      others.push_back(operand);
    }
  }
  if (out.size() + others.size() <= (is_plain(unit) ? kOftenMax : kFiguresMax))
    out.insert(out.end(), others.begin(), others.end());
  return out;
}

template <class Take>
void Combined::each_of_pair(const Unit& unit, const Operand& a, const Operand& b, Take take) const {
  const double x = a.size(), y = b.size();
  if (may_add_up(a.unit, b.unit)) {
    if (may_add_up(a.unit, unit)) {
      if (unit.dimension != Dimension::kTemperature) take(x + y);
      take(std::abs(a.unit.to_base(a.value) - b.unit.to_base(b.value)));
    }
    if (unit.dimension == Dimension::kArea && a.unit.dimension == Dimension::kLength) take(x * y);
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
    if (unit.dimension == Dimension::kSpeed && all.unit.dimension == Dimension::kLength &&
        part.unit.dimension == Dimension::kTime && part.size() > 0)
      take(all.size() / part.size());
    if (!may_add_up(all.unit, unit)) return;
    if (is_share(part.unit)) {
      for (const double times : {part.size(), 1 - part.size(), 1 + part.size()})
        take(all.size() * times);
    } else if (is_plain(part.unit)) {
      take(all.size() * part.value);
      if (part.value > 1) take(all.size() / part.value);
    } else if (rates_ || is_money(all.unit)) {  // 3,000 kWh at 31.4 cents
      take(all.size() * part.value);
      if (rates_ && part.value > 0) take(all.size() / part.value);
    }
  };
  of(a, b);
  of(b, a);
}

// Seconds between dates, times of day and years.
template <class Take>
void Combined::each_span(Take take) const {
  for (size_t i = 0; i < dates_.size(); ++i) {
    for (size_t j = i + 1; j < dates_.size(); ++j) {
      const Date &a = dates_[i], &b = dates_[j];
      if (a.minute >= 0 && b.minute >= 0) {
        const int32_t minutes = std::abs(a.minute - b.minute);
        take(60.0 * minutes);
        take(60.0 * (kMinutes - minutes));
        if (a.half_day != b.half_day) take(60.0 * std::abs(minutes - kHalfDay));
      }
      if (const auto days = days_between(a, b)) {
        take(static_cast<double>(*days) * kInDays.factor);
        take(static_cast<double>(*days + 1) * kInDays.factor);
      }
    }
  }
  for (size_t i = 0; i < operands_.size(); ++i) {
    for (size_t j = i + 1; operands_[i].year && j < operands_.size(); ++j) {
      if (!operands_[j].year) continue;
      const double years = std::abs(operands_[i].value - operands_[j].value);
      take(years * kYears.factor);
      take((years - 1) * kYears.factor);  // the months may be the other way round
    }
  }
}

bool Combined::gives(const Quantity& quantity, Chance chance) const {
  if (quantity.ordinal || quantity.year || quantity.fraction) return false;
  const auto places = places_of(quantity);
  const Unit& unit = quantity.unit();
  const std::vector<Operand> operands = that_give(unit);
  const bool of_time = unit.dimension == Dimension::kTime;
  if (!places || operands.size() > kFiguresMax || (of_time && dates_.size() > kCombinedDatesMax))
    return false;
  Taken taken(*places);
  const auto take = [&](double result) { taken.add(result); };
  for (size_t i = 0; i < operands.size(); ++i) {
    if (is_share(unit) && is_share(operands[i].unit)) take(1 - operands[i].size());
    for (size_t j = i + 1; j < operands.size(); ++j)
      each_of_pair(unit, operands[i], operands[j], take);
  }
  if (of_time) each_span(take);
  chance.alone = chance.alone && operands.size() + (of_time ? dates_.size() : 0) <= kFew;
  return taken.hold_asked(chance);
}

// The very ratio, of those that words name; or one as near as a word can be meant.
bool Combined::gives_ratio(const Quantity& quantity, Chance chance) const {
  const double value = quantity.readings[0].value;
  std::vector<Operand> operands;
  std::ranges::copy_if(operands_, std::back_inserter(operands),
                       [](const Operand& operand) { return !operand.year; });
  if (operands.size() > kFiguresMax) return false;
  std::vector<double> ratios;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = i + 1; j < operands.size(); ++j) {
      const double x = operands[i].size(), y = operands[j].size();
      if (!may_add_up(operands[i].unit, operands[j].unit) || x * y <= 0) continue;
      ratios.push_back(x / y);
      ratios.push_back(y / x);
    }
  }
  chance.alone = chance.alone && operands.size() <= kFew;
  if (!hold(ratios, value)) {
    const double exactness = quantity.hedge == Hedge::kNone ? kNearly : kRoughly;
    Taken taken({.value = value, .step = exactness * value, .rounded = true});
    for (const double ratio : ratios) taken.add(ratio);
    return taken.hold_asked(chance);
  }
  std::vector<int64_t> taken;
  double places = 0;
  for (size_t i = 0; i < named_ratios().size(); ++i) {
    if (!is_near(named_ratios()[i], value)) continue;
    ++places;
    if (hold(ratios, named_ratios()[i])) taken.push_back(static_cast<int64_t>(i));
  }
  return is_rare(taken, places, chance);
}

bool Combined::gives_points(const Quantity& quantity, Chance chance) const {
  const auto places = places_of(quantity);
  std::vector<Operand> shares;
  std::ranges::copy_if(operands_, std::back_inserter(shares),
                       [](const Operand& operand) { return is_share(operand.unit); });
  if (!places || !quantity.is_plain() || shares.size() > kFiguresMax) return false;
  Taken taken(*places);
  for (size_t i = 0; i < shares.size(); ++i) {
    for (size_t j = i + 1; j < shares.size(); ++j)
      taken.add(100 * std::abs(shares[i].size() - shares[j].size()));
  }
  chance.alone = chance.alone && shares.size() <= kFew;
  return taken.hold_asked(chance);
}

bool Combined::gives_count(double count) const {
  const auto counts = [](const Operand& operand) {
    const bool of_things = is_plain(operand.unit) || operand.unit.dimension == Dimension::kTime;
    return of_things && !operand.year && operand.value >= kCountMin && operand.value <= kCountMax &&
           operand.value == std::floor(operand.value);
  };
  return std::ranges::any_of(operands_, [&](const Operand& a) {
    return counts(a) && std::ranges::any_of(operands_, [&](const Operand& b) {
             return counts(b) && a.value * b.value == count;
           });
  });
}

bool Combined::gives(const Date& date, Chance chance) const {
  if (operands_.size() > kFiguresMax || dates_.size() > kCombinedDatesMax) return false;
  if (date.minute >= 0) return gives_time(date, chance);
  return date.month > 0 && date.day > 0 && (gives_day(date, chance) || gives_weekday(date));
}

// So long before or after another time of day.
bool Combined::gives_time(const Date& date, Chance chance) const {
  const bool half = date.half_day || std::ranges::any_of(dates_, &Date::half_day);
  const int32_t day = half ? kHalfDay : kMinutes;
  std::vector<int64_t> reached;
  for (const Date& from : dates_) {
    if (from.minute < 0) continue;
    for (const Operand& span : operands_) {
      const double minutes = span.size() / 60;
      if (span.unit.dimension != Dimension::kTime || minutes < 1 || minutes >= kMinutes) continue;
      const auto by = static_cast<int32_t>(std::lround(minutes));
      reached.push_back((from.minute + by) % day);
      reached.push_back((from.minute - by + kMinutes) % day);
    }
  }
  const double places = static_cast<double>(day) / (date.minute % kTick == 0 ? kTick : 1);
  return std::ranges::find(reached, date.minute % day) != reached.end() &&
         is_rare(reached, places, chance);
}

// Whether the year of a date stands alone somewhere, for one that has none.
bool Combined::knows_year(const Date& date) const {
  return !date.has_year() || std::ranges::any_of(operands_, [&](const Operand& operand) {
    return operand.year && static_cast<int32_t>(operand.value) == date.year;
  });
}

// So many days, months or years on.
bool Combined::gives_day(const Date& date, Chance chance) const {
  std::vector<int64_t> reached;
  int64_t first = INT64_MAX, last = INT64_MIN;
  bool met = false;
  for (const Date& from : dates_) {
    if (from.month < 0 || from.day < 0) continue;
    const int32_t year = from.has_year() ? from.year : date.has_year() ? date.year : kSomeYear;
    const int64_t begin = day_number(from, year);
    first = std::min(first, begin);
    Date to = date;
    if (!from.has_year() && knows_year(date)) to.year = Date::kNoYear;
    const bool later = day_number(date, date.has_year() ? date.year : year) >= begin;
    for (const Operand& span : operands_) {
      const double days = span.size() / kInDays.factor;
      if (span.unit.dimension != Dimension::kTime || days < 1 || days > kSpanDaysMax) continue;
      reached.push_back(begin + std::llround(days));
      last = std::max(last, reached.back());
      met = met || (later && is_apart(to, from, {span.value, 1, span.unit}));
    }
  }
  if (!met) return false;
  return is_rare(reached, static_cast<double>(std::max(last - first, kDaysMin)), chance);
}

// "By Thursday" of a letter of 4 March: the 6th. Which day is meant has to be plain.
bool Combined::gives_weekday(const Date& date) const {
  // But for "Tue, 4 March 2025".
  const auto is_dated = [&](int32_t weekday) {
    return std::ranges::any_of(dates_, [&](const Date& other) {
      return other.has_year() && other.month > 0 && other.day > 0 &&
             weekday_of(other.year, other.month, other.day) == weekday;
    });
  };
  std::vector<int32_t> named;
  for (const Date& other : dates_) {
    if (other.weekday >= 0 && other.day < 0 && !is_dated(other.weekday) &&
        std::ranges::find(named, other.weekday) == named.end())
      named.push_back(other.weekday);
  }
  if (named.empty() || (date.weekday < 0 && named.size() > 1)) return false;
  return std::ranges::any_of(dates_, [&](const Date& from) {
    if (from.month < 0 || from.day < 0 || !from.has_year()) return false;
    const int32_t year = date.has_year() ? date.year : from.year;
    const int64_t days = day_number(date, year) - day_number(from, from.year);
    const int32_t weekday = weekday_of(year, date.month, date.day);
    return days > 0 && days <= kWeek && (date.weekday < 0 || date.weekday == weekday) &&
           std::ranges::find(named, weekday) != named.end();
  });
}

}  // namespace signalbox::grounding
