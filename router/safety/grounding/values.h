#pragma once
// The values of a context. A look-up finds a value that is equal, equal in another unit, or equal
// after the rounding that the answer's figure shows.

#include <span>
#include <vector>

#include "router/text/quantity.h"

namespace signalbox::grounding {

/// Add values, then call seal(). After that it is immutable and thread-safe. A look-up takes a few
/// binary searches for each unit.
class Values {
 public:
  void add(double value, const text::Unit& unit);
  void seal();

  /// True if one of the values is what `reading`, one of the quantity's readings, means. Units of
  /// one dimension are converted. A plain number matches only plain numbers and shares, or values
  /// of every unit with `any_unit`.
  bool contain(const text::Reading& reading, const text::Quantity& quantity, bool any_unit) const;
  /// The plain numbers; valid until the next add().
  std::span<const double> plain() const;

 private:
  struct Bucket {
    text::Unit unit;
    std::vector<double> values;  // ascending once sealed
  };
  static bool matches(const Bucket& bucket, const text::Reading& reading,
                      const text::Quantity& quantity);

  std::vector<Bucket> buckets_;
};

}  // namespace signalbox::grounding
