#pragma once
// What two figures give that may stand anywhere: "£2,505 less" of two rows of a table, "95 minutes"
// of two lines of a log. Any figure is the sum or the quotient of some two of many; so one counts
// as given only where few pairs give anything near it, and a made-up one would hardly be hit by
// chance.

#include <cstdint>
#include <vector>

#include "router/safety/grounding/date.h"
#include "router/safety/grounding/number.h"

namespace signalbox::grounding {

/// Filled, then immutable and free for any number of threads. Asking combines all pairs that can
/// give the unit: a few thousand at most, and none at all of more figures than that.
///
/// `chance`, 0 to 1: the largest part of the values near the one that is asked about, as round as
/// it is, that may be given. `alone`: where only a few figures can give anything, one value near it
/// may be given in any case.
class Combined {
 public:
  void add(const Quantity& quantity);
  void add(const Date& date);
  /// A unit that plain figures may be of.
  void add_named(const Unit& unit);
  /// Figures of any two units may be multiplied and divided: 1.8 t for each of 6.5 ha.
  void take_rates() { rates_ = true; }

  struct Chance {
    double most = 0;
    bool alone = false;
  };

  /// Whether two of the figures give the quantity: sum, difference, product, quotient, share or
  /// growth; a span between dates or times of day.
  bool gives(const Quantity& quantity, Chance chance) const;
  /// Whether a span leads on from one date to this one; whether it is the day of the week that the
  /// texts name without a date, next after one of their dates.
  bool gives(const Date& date, Chance chance) const;
  /// Whether one of the figures is so many times another, or such a part of it: "half", "three
  /// times".
  bool gives_ratio(const Quantity& quantity, Chance chance) const;
  /// Whether a plain number is the difference of two shares: "3.4 points".
  bool gives_points(const Quantity& quantity, Chance chance) const;
  /// Whether two of the figures are counts, of things or time, that multiply to it: 2 adults, 4
  /// nights.
  bool gives_count(double count) const;

 private:
  struct Operand {
    double value = 0;  // as written
    Unit unit = {};
    bool year = false;

    double size() const { return value * unit.factor; }  // differences have no offset
    bool operator==(const Operand&) const = default;
  };
  void add(const Operand& operand);
  std::vector<Operand> that_give(const Unit& unit) const;
  template <class Take>
  void each_of_pair(const Unit& unit, const Operand& a, const Operand& b, Take take) const;
  template <class Take>
  void each_span(Take take) const;
  bool gives_time(const Date& date, Chance chance) const;
  bool gives_day(const Date& date, Chance chance) const;
  bool gives_weekday(const Date& date) const;
  bool knows_year(const Date& date) const;

  std::vector<Operand> operands_;  // different ones; of dates their years
  std::vector<Date> dates_;
  std::vector<Unit> named_;
  bool rates_ = false;
};

}  // namespace signalbox::grounding
