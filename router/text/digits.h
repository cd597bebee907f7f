#pragma once
// Reads digits with separators, which may mark decimals or thousands.

#include <cstdint>
#include <optional>
#include <string_view>

namespace signalbox::text {

struct Digits {
  double value = 0;
  double step = 1;                   // value of one unit in the last digit
  std::optional<double> other = {};  // a second reading: "1.234" may be 1234
};

/// Reads a token of digits: "1,200.5", "1.200,5", "1,50,000". Returns nullopt for other separators,
/// as in "1.2.3".
std::optional<Digits> read_digits(std::string_view written);

/// The value of one or two digits and nothing else, or -1.
int32_t small_number(std::string_view written);

}  // namespace signalbox::text
