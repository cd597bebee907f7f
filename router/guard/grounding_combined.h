#pragma once
// What two figures give that may stand anywhere: "£2,505 less" of two rows of a table, "95 minutes"
// of two lines of a log. Any figure is the sum or the quotient of some two of many; so one counts
// as given only where few pairs give anything near it, and a made-up one would hardly be hit by
// chance.

#include <cstdint>
#include <vector>

#include "router/guard/grounding_date.h"
#include "router/guard/grounding_number.h"

namespace signalbox::router::grounding {

/// Filled, then immutable and free for any number of threads. Asking combines all pairs: a few
/// thousand of them at most.
class Combined {
 public:
  void add(const Quantity& quantity);
  void add(const Date& date);
  /// A unit that the texts name away from any number: plain ones may be of it.
  void add_named(const Unit& unit);

  /// Whether two of the figures give the quantity: sum, difference, product, quotient, share or
  /// growth; a span between dates or times of day; one figure doubled, halved, of all twelve
  /// months. `chance`, 0 to 1: the largest part of the values near it, as exact as it is written,
  /// that may be given so. False with too many figures.
  bool gives(const Quantity& quantity, double chance) const;
  /// Whether one of the figures is so many times another, or such a part of it: "half", "three
  /// times".
  bool gives_ratio(const Quantity& quantity, double chance) const;
  /// Whether a span leads from one date to this one; whether it is the day of the week that the
  /// texts have next to one of their dates.
  bool gives(const Date& date, double chance) const;

 private:
  struct Operand {
    double value = 0;  // as written
    Unit unit = {};
    bool year = false;

    double size() const { return value * unit.factor; }  // differences have no offset
    bool operator==(const Operand&) const = default;
  };
  void add(const Operand& operand);
  template <class Take>
  void each_result(const Unit& unit, Take take) const;
  template <class Take>
  static void each_of_pair(const Unit& unit, const Operand& a, const Operand& b, Take take);
  template <class Take>
  void each_span(Take take) const;
  Operand as_named(const Operand& operand, const Unit& unit) const;
  bool gives_time(const Date& date, double chance) const;
  bool gives_day(const Date& date, double chance) const;
  bool gives_weekday(const Date& date, double chance) const;

  std::vector<Operand> operands_;  // different ones, of dates their years too
  std::vector<Date> dates_;
  std::vector<Unit> named_;
  bool too_many_ = false;
};

}  // namespace signalbox::router::grounding
