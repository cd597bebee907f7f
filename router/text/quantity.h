#pragma once
// Reads quantities: "1,200", "1.2 million", "twelve", "half a dozen", "3/4", "50 %", "$5bn", "5
// km", "about 3,000". An ambiguous quantity ("5m" is metres or millions) has several readings.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "router/text/read_text.h"
#include "router/text/units.h"

namespace signalbox::text {

/// The precision of a number according to the words around it.
enum class Hedge : uint8_t { kNone, kAbout, kOver, kUnder, kAtLeast, kAtMost };

struct Reading {
  double value = 0;  // as written, times "million" and the like; not converted
  double step = 1;   // value of one unit in the last written digit
  Unit unit = {};
};

struct Quantity {
  uint32_t begin = 0, end = 0;               // bytes of the text: number and unit
  uint32_t first_token = 0, last_token = 0;  // half-open
  std::array<Reading, 4> readings = {};
  uint8_t count = 0;  // of readings, at least 1
  Hedge hedge = Hedge::kNone;
  bool year = false;      // four digits without a unit that may be a year
  bool ordinal = false;   // "3rd", "third"
  bool scaled = false;    // "1.2 million", "5k": a rounded form
  double scale = 1;       // of "million" and the like
  bool range = false;     // one end of "10-20"
  bool vague = false;     // usually no figure: "one", "first", "a"
  bool words = false;     // written in letters
  bool fraction = false;  // a part of one: "half", "3/4", "one in four"

  std::span<const Reading> read() const { return {readings.data(), count}; }
  const Unit& unit() const { return readings[0].unit; }
  bool is_plain() const { return text::is_plain(unit()); }
};

/// The quantity that begins at the token, if there is one.
std::optional<Quantity> read_quantity(const ReadText& text, size_t token);

}  // namespace signalbox::text
