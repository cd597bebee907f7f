#pragma once
// Quantities as texts write them: "1,200", "1.2 million", "twelve", "half a dozen", "3/4", "50 %",
// "$5bn", "5 km", "about 3,000". A quantity may be read in several ways ("5m" is metres or
// millions), and is the same as another when one reading of each is.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "router/safety/grounding/text.h"
#include "router/safety/grounding/units.h"

namespace signalbox::grounding {

/// What a word before or after a number says of its precision.
enum class Hedge : uint8_t { kNone, kAbout, kOver, kUnder, kAtLeast, kAtMost };

struct Reading {
  double value = 0;  // as written, times "million" and the like; not converted
  double step = 1;   // of the last digit that was written
  Unit unit = {};
};

struct Quantity {
  uint32_t begin = 0, end = 0;               // bytes of the text: number and unit
  uint32_t first_token = 0, last_token = 0;  // half-open
  std::array<Reading, 4> readings = {};
  uint8_t count = 0;  // of readings, 1 at least
  Hedge hedge = Hedge::kNone;
  bool year = false;      // four digits that can be one, and no unit
  bool ordinal = false;   // "3rd", "third"
  bool scaled = false;    // "1.2 million", "5k": rounded by its way of writing
  double scale = 1;       // of "million" and the like
  bool range = false;     // one end of "10-20"
  bool vague = false;     // what texts do not mean as a figure: "one", "first", "a"
  bool words = false;     // written in letters
  bool fraction = false;  // a part of one: "half", "3/4", "one in four"

  std::span<const Reading> read() const { return {readings.data(), count}; }
  const Unit& unit() const { return readings[0].unit; }
  bool is_plain() const { return grounding::is_plain(unit()); }
};

/// The same where it counts something: "1,800 pupils" as "1800 pupils".
inline Quantity no_year(Quantity quantity) {
  quantity.year = false;
  return quantity;
}

/// Whether it is the digits of a code: "TN-3420".
bool is_of_code(const ReadText& text, const Quantity& quantity);

/// The quantity that begins at the token, if one does.
std::optional<Quantity> read_quantity(const ReadText& text, size_t token);

}  // namespace signalbox::grounding
