#pragma once
// Digits with separators between them, which are points of decimals here and of thousands there.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace signalbox::grounding {

struct Digits {
  double value = 0;
  double step = 1;                   // of the last digit
  std::optional<double> other = {};  // "1.234" is also 1234
};

/// Of a token of digits: "1,200.5", "1.200,5", "1,50,000"; none when they are no number ("1.2.3").
std::optional<Digits> read_digits(std::string_view written);

/// A number of one or two digits and nothing else, or -1.
int32_t small_number(std::string_view written);

/// What the commas of such a number would separate in a row of a table: "12,15", "1,50,000".
/// Nothing where it is a number by its look ("1,200").
std::vector<double> cells_of(std::string_view written);

}  // namespace signalbox::grounding
