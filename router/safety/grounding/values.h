#pragma once
// Values that a context offers, and whether one that an answer names is among them: the same, the
// same in another unit, or what rounding makes of it.

#include <span>
#include <vector>

#include "router/safety/grounding/number.h"

namespace signalbox::grounding {

/// Filled, sealed, asked; then immutable. Asking costs a search a unit.
class Values {
 public:
  void add(double value, const Unit& unit);
  void seal();

  /// Whether the reading of a quantity means one of the values. Units of one dimension are
  /// converted; a plain number meets plain ones, and `of_any_unit` those of every unit.
  bool hold(const Reading& reading, const Quantity& quantity, bool of_any_unit) const;
  /// The same of plain values only, whatever the reading's unit.
  bool hold_plain(const Reading& reading, const Quantity& quantity) const;
  /// The plain ones; until something is added.
  std::span<const double> plain() const;

 private:
  struct Bucket {
    Unit unit;
    std::vector<double> values;  // ascending once sealed
  };
  static bool meets(const std::vector<double>& values, const Unit& unit, const Reading& reading,
                    const Quantity& quantity, bool converted);

  std::vector<Bucket> buckets_;
};

}  // namespace signalbox::grounding
