#pragma once
// Numbers without what stands around them: "1,200.5", "1.2 million", "twenty-three", "half a
// dozen", "3/4", "third", "one in four".

#include <array>
#include <cstdint>
#include <optional>

#include "router/safety/grounding/text.h"

namespace signalbox::grounding {

struct Numeral {
  double value = 0;
  double step = 1;                   // of the last digit that was written
  double scale = 1;                  // of "million" and the like behind digits
  std::optional<double> other = {};  // how else the digits can be read
  /// Of a context: plain numbers that it may be made of ("12,15", "3 out of 4").
  std::array<double, 3> parts = {};
  uint8_t part_count = 0;
  size_t next = 0;        // the token after it
  bool ordinal = false;   // "3rd", "third"
  bool scaled = false;    // "1.2 million", "5k": rounded by its way of writing
  bool vague = false;     // what texts do not mean as a figure: "one", "first", "an hour"
  bool words = false;     // written in letters
  bool fraction = false;  // a part of one
};

std::optional<Numeral> read_numeral(const ReadText& text, size_t token);

}  // namespace signalbox::grounding
