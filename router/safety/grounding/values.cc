// A sorted list a unit. What a reading accepts is an interval, or a few, in each.

#include "router/safety/grounding/values.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace signalbox::grounding {
namespace {

constexpr double kSame = 1e-7;  // what decimal fractions and factors of units lose

// Largest relative distances that rounding explains.
constexpr double kByDecimals = 0.01;    // of money and of fractions in words
constexpr double kByOneDigit = 0.15;    // "0.3"
constexpr double kByScale = 0.05;       // "1.2 million", "47 %"
constexpr double kByHedge = 0.1;        // "about 3,000"
constexpr double kCloseByHedge = 0.03;  // "about 2,950", whatever digits it has
constexpr double kByConversion = 0.015;
constexpr double kFractionStep = 0.1;  // "just under a quarter of an hour", in minutes
constexpr double kYearsByHedge = 2;
// "Roughly a quarter".
constexpr double kFractionByHedge = 0.03, kFractionByHedgeMost = 0.15;
// "More than half" goes up to the next of them, "less than half" down.
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

// "3,000" has a step of 1 as written and of 1,000 as meant.
double meant_step(double value, double step) {
  if (value == 0) return step;
  while (std::fmod(std::abs(value), step * 10) < step * 1e-6 && step * 10 <= std::abs(value))
    step *= 10;
  return step;
}

// What a hedged fraction of one means, in parts of one.
Interval hedged(double fraction, Hedge hedge) {
  constexpr double kApart = 1e-3;  // fractions that are the same but for their digits
  if (hedge == Hedge::kOver || hedge == Hedge::kAtLeast) {
    const auto next = std::ranges::upper_bound(kFractions, fraction + kApart);
    return {fraction, next == std::end(kFractions) ? fraction : *next};
  }
  if (hedge == Hedge::kUnder || hedge == Hedge::kAtMost) {
    const auto from = std::ranges::lower_bound(kFractions, fraction - kApart);
    return {from == std::begin(kFractions) ? fraction : *(from - 1), fraction};
  }
  return around(fraction, std::min(kFractionByHedge, fraction * kFractionByHedgeMost));
}

// How far rounding, or cutting, to the digits that are written may take a value away.
double rounded_by(const Reading& reading, const Quantity& quantity, double size, double step) {
  const bool share = reading.unit.dimension == Dimension::kShare;
  const bool money = reading.unit.dimension == Dimension::kMoney;
  const double half = step / 2 * (1 + kSame);
  const bool decimals = reading.step < 1 && !quantity.fraction && !money;
  if (decimals && !quantity.scaled) {
    const bool digits = std::abs(reading.value) >= 10 * reading.step * (1 - kSame);  // two of them
    return digits ? half : std::min(half, size * kByOneDigit);
  }
  if (quantity.scaled || share) return std::min(half, size * kByScale);
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

bool Values::meets(const std::vector<double>& values, const Unit& unit, const Reading& reading,
                   const Quantity& quantity, bool converted) {
  double value = reading.value, step = reading.step;
  bool factor = false;
  if (converted) {
    value = (reading.unit.to_base(value) - unit.offset) / unit.factor;
    step *= reading.unit.factor / unit.factor;
    factor = reading.unit.factor != unit.factor || reading.unit.offset != unit.offset;
  }
  const double size = std::abs(value);
  if (quantity.fraction && factor) step = std::max(step, size * kFractionStep);
  if (any_in(values, around(value, kSame * std::max(size, 1e-3)))) return true;
  if (quantity.ordinal) return false;
  if (quantity.year)  // "about 1400" may be people, too
    return quantity.hedge == Hedge::kAbout &&
           any_in(values, around(value, std::max(kYearsByHedge, meant_step(value, step) / 2)));
  // A loss of 5 is -5.
  if (!factor && reading.unit.dimension != Dimension::kTemperature &&
      any_in(values, around(-value, kSame * std::max(size, 1e-3))))
    return true;
  if (factor && any_in(values, around(value, std::max(std::min(step / 2, size * 0.05),
                                                      size * kByConversion))))
    return true;
  switch (quantity.hedge) {
    case Hedge::kAbout:
      return any_in(values,
                    around(value, std::max(std::min(meant_step(value, step) / 2, size * kByHedge),
                                           size * kCloseByHedge)));
    case Hedge::kOver:
    case Hedge::kAtLeast:
      return any_in(values, {value, value + meant_step(value, step)});
    case Hedge::kUnder:
    case Hedge::kAtMost:
      return any_in(values, {value - meant_step(value, step), value});
    case Hedge::kNone:
      break;
  }
  const double distance = rounded_by(reading, quantity, size, step);
  return distance > 0 && any_in(values, around(value, distance));
}

bool Values::hold(const Reading& reading, const Quantity& quantity, bool of_any_unit) const {
  constexpr Unit kWhole = {Dimension::kShare, 1};
  const Dimension mine = reading.unit.dimension;
  // 100 % is no plain 1, and 1 no 100 %; 1.25 is 125 %.
  const double base = reading.unit.to_base(reading.value);
  const bool part = std::abs(base) < 1 || base != std::floor(base);
  // "More than half" goes far: not for what is only derived, as the rest of 35 % is.
  const bool stretches =
      quantity.fraction && mine == Dimension::kNone &&
      (quantity.hedge == Hedge::kAbout || (quantity.hedge != Hedge::kNone && of_any_unit));
  return std::ranges::any_of(buckets_, [&](const Bucket& bucket) {
    const Dimension theirs = bucket.unit.dimension;
    const auto meet = [&](const Unit& unit, const Reading& as, bool converted) {
      return meets(bucket.values, unit, as, quantity, converted);
    };
    if (mine == Dimension::kMoney && theirs == Dimension::kMoney)
      return may_be_currency(reading.unit.currency, bucket.unit.currency) &&
             meet(bucket.unit, reading, true);
    if (stretches && (theirs == Dimension::kNone || theirs == Dimension::kShare)) {
      const Interval meant = hedged(reading.value, quantity.hedge);
      const double one = theirs == Dimension::kShare ? 1 / bucket.unit.factor : 1;
      if (any_in(bucket.values, {meant.low * one, meant.high * one})) return true;
    }
    if (mine == theirs) return meet(bucket.unit, reading, mine != Dimension::kNone);
    // "half" for 50 %, and the other way round.
    if (mine == Dimension::kShare && theirs == Dimension::kNone)
      return part && meet(kWhole, reading, true);
    if (mine != Dimension::kNone) return false;
    if (theirs == Dimension::kShare && part) {
      Reading share = reading;
      share.unit = kWhole;
      if (meet(bucket.unit, share, true)) return true;
    }
    return of_any_unit && meet(bucket.unit, reading, false);
  });
}

bool Values::hold_plain(const Reading& reading, const Quantity& quantity) const {
  return std::ranges::any_of(buckets_, [&](const Bucket& bucket) {
    return bucket.unit.dimension == Dimension::kNone &&
           meets(bucket.values, bucket.unit, reading, quantity, false);
  });
}

}  // namespace signalbox::grounding
