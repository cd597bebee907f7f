// Values are kept in one sorted list for each unit. A reading accepts one or a few intervals.

#include "router/safety/grounding/values.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace signalbox::grounding {
namespace {

using namespace text;

constexpr double kEqual = 1e-7;  // relative error of decimal fractions and unit factors

// The largest relative differences that rounding explains.
constexpr double kByDecimals = 0.01;    // money, fractions in words
constexpr double kByOneDigit = 0.15;    // "0.3"
constexpr double kByScale = 0.05;       // "1.2 million", "47 %"
constexpr double kByHedge = 0.1;        // "about 3,000"
constexpr double kCloseByHedge = 0.03;  // "about 2,950", whatever its digits
constexpr double kByConversion = 0.015;
constexpr double kFractionStep = 0.1;      // "a quarter of an hour", in minutes
constexpr double kFractionByHedge = 0.03;  // "roughly a quarter", in parts of one
constexpr double kYearsByHedge = 2;        // "about 1400", in years

// "More than half" means up to the next of these, "less than half" down to the previous one.
constexpr double kFractions[] = {0,       1.0 / 10, 1.0 / 5, 1.0 / 4, 1.0 / 3,
                                 1.0 / 2, 2.0 / 3,  3.0 / 4, 1};

struct Interval {
  double low, high;
};

bool any_in(const std::vector<double>& values, Interval in) {
  const auto first = std::ranges::lower_bound(values, in.low);
  return first != values.end() && *first <= in.high;
}

Interval around(double value, double distance) {
  return {value - distance, value + distance};
}

// "3,000" is written to a step of 1 and meant to a step of 1,000.
double meant_step(double value, double step) {
  if (value == 0) return step;
  while (std::fmod(std::abs(value), step * 10) < step * 1e-6 && step * 10 <= std::abs(value))
    step *= 10;
  return step;
}

// The shares that a hedged fraction of one may stand for.
Interval hedged_fraction(double fraction, Hedge hedge) {
  constexpr double kApart = 1e-3;
  if (hedge == Hedge::kOver || hedge == Hedge::kAtLeast) {
    const auto next = std::ranges::upper_bound(kFractions, fraction + kApart);
    return {fraction, next == std::end(kFractions) ? fraction : *next};
  }
  if (hedge == Hedge::kUnder || hedge == Hedge::kAtMost) {
    const auto from = std::ranges::lower_bound(kFractions, fraction - kApart);
    return {from == std::begin(kFractions) ? fraction : *(from - 1), fraction};
  }
  return around(fraction, kFractionByHedge);
}

// The greatest change of a value of this size when it is rounded to the written digits.
double rounding(const Reading& reading, const Quantity& quantity, double size, double step) {
  const double half = step / 2 * (1 + kEqual);
  const bool decimals = reading.step < 1 && !quantity.fraction && !is_money(reading.unit);
  if (decimals && !quantity.scaled) {
    const bool two_digits = std::abs(reading.value) >= 10 * reading.step * (1 - kEqual);
    return two_digits ? half : std::min(half, size * kByOneDigit);
  }
  if (quantity.scaled || is_share(reading.unit)) return std::min(half, size * kByScale);
  return step < 1 ? std::min(half, size * kByDecimals) : 0;
}

}  // namespace

void Values::add(double value, const Unit& unit) {
  auto bucket = std::ranges::find(buckets_, unit, &Bucket::unit);
  if (bucket == buckets_.end()) {
    buckets_.push_back({unit, {}});
    bucket = buckets_.end() - 1;
  }
  bucket->values.push_back(value);
}

std::span<const double> Values::plain() const {
  const auto bucket = std::ranges::find(buckets_, Unit{}, &Bucket::unit);
  return bucket == buckets_.end() ? std::span<const double>() : bucket->values;
}

void Values::seal() {
  for (Bucket& bucket : buckets_) std::ranges::sort(bucket.values);
}

// A plain number is compared as it is, others in the unit of the bucket.
bool Values::matches(const Bucket& bucket, const Reading& reading, const Quantity& quantity) {
  const auto& values = bucket.values;
  const Unit& unit = bucket.unit;
  double value = reading.value, step = reading.step;
  bool converted = false;
  if (!is_plain(reading.unit)) {
    value = (reading.unit.to_base(value) - unit.offset) / unit.factor;
    step *= reading.unit.factor / unit.factor;
    converted = reading.unit.factor != unit.factor || reading.unit.offset != unit.offset;
  }
  const double size = std::abs(value), equal = kEqual * std::max(size, 1e-3);
  if (quantity.fraction && converted) step = std::max(step, size * kFractionStep);
  if (any_in(values, around(value, equal))) return true;
  if (quantity.ordinal) return false;
  const double meant = meant_step(value, step);
  if (quantity.year)
    return quantity.hedge == Hedge::kAbout &&
           any_in(values, around(value, std::max(kYearsByHedge, meant / 2)));
  // A loss of 5 may be written as -5.
  if (!converted && reading.unit.dimension != Dimension::kTemperature &&
      any_in(values, around(-value, equal)))
    return true;
  if (converted && any_in(values, around(value, std::max(std::min(step / 2, size * kByScale),
                                                         size * kByConversion))))
    return true;
  switch (quantity.hedge) {
    case Hedge::kAbout:
      return any_in(values, around(value, std::max(std::min(meant / 2, size * kByHedge),
                                                   size * kCloseByHedge)));
    case Hedge::kOver:
    case Hedge::kAtLeast:
      return any_in(values, {value, value + meant});
    case Hedge::kUnder:
    case Hedge::kAtMost:
      return any_in(values, {value - meant, value});
    case Hedge::kNone:
      break;
  }
  const double distance = rounding(reading, quantity, size, step);
  return distance > 0 && any_in(values, around(value, distance));
}

bool Values::contain(const Reading& reading, const Quantity& quantity, bool any_unit) const {
  constexpr Unit kWhole = {Dimension::kShare, 1};
  const Dimension mine = reading.unit.dimension;
  // Only a part of one can be a share: 1.25 is 125 %, but 1 is not 100 %.
  const double base = reading.unit.to_base(reading.value);
  const bool part = std::abs(base) < 1 || base != std::floor(base);
  const bool hedged =
      quantity.fraction && mine == Dimension::kNone && quantity.hedge != Hedge::kNone;
  const auto as_share = [&] {
    Reading share = reading;
    share.unit = kWhole;
    return share;
  };
  return std::ranges::any_of(buckets_, [&](const Bucket& bucket) {
    const Dimension theirs = bucket.unit.dimension;
    if (mine == Dimension::kMoney && theirs == Dimension::kMoney)
      return may_be_currency(reading.unit.currency, bucket.unit.currency) &&
             matches(bucket, reading, quantity);
    if (hedged && (theirs == Dimension::kNone || theirs == Dimension::kShare)) {
      const Interval meant = hedged_fraction(reading.value, quantity.hedge);
      const double one = theirs == Dimension::kShare ? 1 / bucket.unit.factor : 1;
      if (any_in(bucket.values, {meant.low * one, meant.high * one})) return true;
    }
    if (mine == theirs) return matches(bucket, reading, quantity);
    if (mine == Dimension::kShare && theirs == Dimension::kNone)  // 50 % for "half"
      return part && matches(bucket, reading, quantity);
    if (mine != Dimension::kNone) return false;
    if (theirs == Dimension::kShare && part && matches(bucket, as_share(), quantity)) return true;
    return any_unit && matches(bucket, reading, quantity);
  });
}

}  // namespace signalbox::grounding
