#pragma once
// What figures that an answer names, and the context has, give together: "38 days (30 and 8)", "12
// × $1,450 is $17,400", "from 302 to 310, 2.6 % more", "by April 7, 30 days after March 8".

#include <cstdint>
#include <span>
#include <vector>

#include "router/safety/grounding/date.h"
#include "router/safety/grounding/number.h"
#include "router/safety/grounding/values.h"

namespace signalbox::grounding {

/// Of the few operands that stand around one sentence: made of all, they would soon give any
/// number. Sums, differences, products, averages, shares and growth of quantities; spans of time
/// between dates; dates that are so much later or earlier than another. Small plain numbers are the
/// sum or difference of nearly any others: they are left out.
class Shown {
 public:
  /// A dozen of each at most: all pairs are combined. `reckons`: the sentence says so, and plain
  /// numbers are added up too.
  Shown(std::span<const Quantity> quantities, std::span<const Date> dates, bool reckons);

  bool gives(const Quantity& quantity) const;
  bool gives(const Date& date) const;

 private:
  void add(double value, const Unit& unit);
  void add_pair(const Quantity& a, const Quantity& b);
  void add_priced(const Quantity& a, const Quantity& b);
  void add_ratio(double x, double y, const Unit& unit);
  void add_alike(double x, double y, const Unit& unit);
  void add_shares(double x, double y);
  void add_share_of(double part, const Reading& whole);
  void add_spans(const Date& a, const Date& b);
  void add_years(std::span<const Quantity> quantities);

  bool reckons_;
  std::vector<Date> dates_;
  std::vector<Reading> spans_;  // of time
  Values values_;
  double priced_ = 0;  // the sum of so many at such a price
  Unit priced_unit_ = {};
  size_t priced_of_ = 0;
};

}  // namespace signalbox::grounding
