#pragma once
// Reads numbers without their surroundings: "1,200.5", "1.2 million", "twenty-three", "half a
// dozen", "3/4", "third", "one in four".

#include <array>
#include <cstdint>
#include <optional>

#include "router/text/read_text.h"

namespace signalbox::text {

struct Numeral {
  double value = 0;
  double step = 1;                   // value of one unit in the last written digit
  double scale = 1;                  // of "million" and the like after digits
  std::optional<double> other = {};  // a second reading of the digits
  /// In a context, the two numbers of a ratio ("3 out of 4"), which also count by themselves.
  std::array<double, 2> parts = {};
  uint8_t part_count = 0;
  size_t next = 0;        // the token after it
  bool ordinal = false;   // "3rd", "third"
  bool scaled = false;    // "1.2 million", "5k": a rounded form
  bool vague = false;     // usually no figure: "one", "first", "an hour"
  bool words = false;     // written in letters
  bool fraction = false;  // a part of one
};

std::optional<Numeral> read_numeral(const ReadText& text, size_t token);

}  // namespace signalbox::text
