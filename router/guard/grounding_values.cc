// A sorted list a unit. What a reading accepts is an interval, or a few, in each.

#include "router/guard/grounding_values.h"

#include <algorithm>
#include <cmath>

namespace signalbox::router::grounding {
namespace {

constexpr double kSame = 1e-7;  // what decimal fractions and factors of units lose

// Largest relative distances that rounding explains.
constexpr double kByDecimals = 0.01;    // "3.14"
constexpr double kByScale = 0.05;       // "1.2 million", "47 %"
constexpr double kByHedge = 0.1;        // "about 3,000"
constexpr double kCloseByHedge = 0.03;  // "about 2,950", whatever digits it has
constexpr double kByConversion = 0.015;
constexpr double kBeyond = 0.1;  // "over 2,900" for up to 3,190, unless its digits say more
constexpr double kYearsByHedge = 2;

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

}  // namespace

void Values::add(double value, const Unit& unit) {
  auto bucket = std::ranges::find(buckets_, unit, &Bucket::unit);
  if (bucket == buckets_.end()) {
    buckets_.push_back({unit, {}});
    bucket = buckets_.end() - 1;
  }
  bucket->values.push_back(value);
}

void Values::seal() {
  for (Bucket& bucket : buckets_) std::ranges::sort(bucket.values);
}

bool Values::meets(const Bucket& bucket, const Reading& reading, const Quantity& quantity,
                   bool converted) {
  double value = reading.value, step = reading.step;
  bool factor = false;
  if (converted) {
    const double base = reading.unit.to_base(value);
    value = (base - bucket.unit.offset) / bucket.unit.factor;
    step *= reading.unit.factor / bucket.unit.factor;
    factor = !(reading.unit == bucket.unit);
  }
  const double size = std::abs(value);
  if (any_in(bucket.values, around(value, kSame * std::max(size, 1e-3)))) return true;
  if (quantity.ordinal) return false;
  if (quantity.year)
    return quantity.hedge == Hedge::kAbout && any_in(bucket.values, around(value, kYearsByHedge));
  // A loss of 5 is -5.
  if (!factor && reading.unit.dimension != Dimension::kTemperature &&
      any_in(bucket.values, around(-value, kSame * std::max(size, 1e-3))))
    return true;
  if (factor && any_in(bucket.values, around(value, std::max(std::min(step / 2, size * 0.05),
                                                             size * kByConversion))))
    return true;
  switch (quantity.hedge) {
    case Hedge::kAbout:
      return any_in(bucket.values,
                    around(value, std::max(std::min(meant_step(value, step) / 2, size * kByHedge),
                                           size * kCloseByHedge)));
    case Hedge::kOver:
      return any_in(bucket.values,
                    {value, value + std::max(meant_step(value, step), size * kBeyond)});
    case Hedge::kUnder:
      return any_in(bucket.values,
                    {value - std::max(meant_step(value, step), size * kBeyond), value});
    case Hedge::kNone:
      break;
  }
  // Rounded, or cut, to the digits that are written.
  const bool share = reading.unit.dimension == Dimension::kShare;
  const bool whole = step >= 1 && !quantity.scaled && !share;
  if (whole) return false;
  const double most = size * (quantity.scaled || share ? kByScale : kByDecimals);
  return any_in(bucket.values, around(value, std::min(step / 2 * (1 + kSame), most)));
}

bool Values::hold(const Reading& reading, const Quantity& quantity, bool of_any_unit) const {
  for (const Bucket& bucket : buckets_) {
    const Dimension mine = reading.unit.dimension, theirs = bucket.unit.dimension;
    if (mine == theirs && mine != Dimension::kMoney) {
      if (meets(bucket, reading, quantity, mine != Dimension::kNone)) return true;
    } else if (mine == Dimension::kMoney && theirs == Dimension::kMoney) {
      const uint8_t a = reading.unit.currency, b = bucket.unit.currency;
      if ((a == b || a == 0 || b == 0) && meets(bucket, reading, quantity, true)) return true;
    } else if (mine == Dimension::kShare && theirs == Dimension::kNone) {
      // "half" for 50 %, read the other way round below.
      Reading plain = reading;
      plain.value = reading.unit.to_base(reading.value);
      plain.step = reading.step * reading.unit.factor;
      plain.unit = {};
      if (std::abs(plain.value) <= 1 && meets(bucket, plain, quantity, false)) return true;
    } else if (mine == Dimension::kNone && theirs == Dimension::kShare &&
               std::abs(reading.value) <= 1) {
      Reading share = reading;
      share.unit = {Dimension::kShare, 1};
      if (meets(bucket, share, quantity, true)) return true;
      if (of_any_unit && meets(bucket, reading, quantity, false)) return true;
    } else if (mine == Dimension::kNone && of_any_unit) {
      if (meets(bucket, reading, quantity, false)) return true;
    }
  }
  return false;
}

bool Values::hold_plain(const Reading& reading, const Quantity& quantity) const {
  for (const Bucket& bucket : buckets_) {
    if (bucket.unit.dimension == Dimension::kNone && meets(bucket, reading, quantity, false))
      return true;
  }
  return false;
}

}  // namespace signalbox::router::grounding
