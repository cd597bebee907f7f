// Small plain numbers are the sum or difference of nearly any others: they are left out.

#include "router/guard/grounding_shown.h"

#include <algorithm>
#include <cmath>

namespace signalbox::router::grounding {
namespace {

constexpr size_t kOperandsMax = 12;
constexpr double kPlainMin = 10;

}  // namespace

Values shown_by(std::span<const Quantity> operands, bool plain) {
  Values out;
  const auto add = [&](double value, const Unit& unit) {
    if (unit.dimension != Dimension::kNone || (plain && std::abs(value) >= kPlainMin))
      out.add(value, unit);
  };
  operands = operands.last(std::min(operands.size(), kOperandsMax));
  for (size_t i = 0; i < operands.size(); ++i) {
    const Reading& a = operands[i].readings[0];
    double sum = a.value;
    for (size_t j = i + 1; j < operands.size(); ++j) {
      const Reading& b = operands[j].readings[0];
      if (a.unit.dimension == Dimension::kNone) add(a.value * b.value, b.unit);
      if (b.unit.dimension == Dimension::kNone) add(a.value * b.value, a.unit);
      if (!(a.unit == b.unit)) continue;
      add(a.value + b.value, a.unit);
      add(a.value - b.value, a.unit);
      add(b.value - a.value, a.unit);
      sum += b.value;
    }
    add(sum, a.unit);
  }
  out.seal();
  return out;
}

}  // namespace signalbox::router::grounding
