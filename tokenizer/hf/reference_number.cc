// Follows serde_json 1.0: as many digits as fit in 64 bits, a decimal exponent, and a table of
// powers of ten up to 308.

#include "tokenizer/hf/reference_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/ascii.h"

namespace signalbox::tokenizer {
namespace {

constexpr int64_t kPowerMax = 308;
constexpr int64_t kExponentMax = int64_t{1} << 40;  // far beyond any exponent that affects the
                                                    // result

double power_of_ten(int64_t exponent) {
  static const auto powers = [] {
    std::array<double, kPowerMax + 1> table;
    for (size_t i = 0; i < table.size(); ++i) {
      const std::string text = "1e" + std::to_string(i);
      std::from_chars(text.data(), text.data() + text.size(), table[i]);
    }
    return table;
  }();
  return powers[static_cast<size_t>(exponent)];
}

struct Parts {
  uint64_t significand = 0;
  int64_t exponent = 0;
};

// Reads digits from `i` until one does not fit; that digit and all later ones are dropped. Returns
// the number of digits read and the number dropped.
std::pair<int64_t, int64_t> take_digits(std::string_view number, size_t& i, uint64_t& significand) {
  int64_t taken = 0;
  int64_t dropped = 0;
  for (; i < number.size() && ascii::is_digit(number[i]); ++i) {
    const auto digit = static_cast<uint64_t>(number[i] - '0');
    if (dropped > 0 || significand > (UINT64_MAX - digit) / 10) {
      ++dropped;
    } else {
      significand = significand * 10 + digit;
      ++taken;
    }
  }
  return {taken, dropped};
}

int64_t read_exponent(std::string_view number, size_t i) {
  const bool negative = number[i] == '-';
  if (number[i] == '-' || number[i] == '+') ++i;
  int64_t exponent = 0;
  for (; i < number.size() && ascii::is_digit(number[i]); ++i) {
    exponent = std::min(exponent * 10 + (number[i] - '0'), kExponentMax);
  }
  return negative ? -exponent : exponent;
}

Parts parts_of(std::string_view number) {
  Parts parts;
  size_t i = 0;
  parts.exponent = take_digits(number, i, parts.significand).second;
  if (i < number.size() && number[i] == '.') {
    parts.exponent -= take_digits(number, ++i, parts.significand).first;
  }
  if (i + 1 < number.size()) parts.exponent += read_exponent(number, i + 1);
  return parts;
}

}  // namespace

Result<double> reference_number(std::string_view number) {
  const bool negative = number.starts_with('-');
  auto [significand, exponent] = parts_of(number.substr(negative ? 1 : 0));
  auto value = static_cast<double>(significand);
  for (; exponent < -kPowerMax && value != 0; exponent += kPowerMax) {
    value /= power_of_ten(kPowerMax);
  }
  if (value != 0) {
    if (exponent > kPowerMax) value = HUGE_VAL;
    value = exponent < 0 ? value / power_of_ten(-exponent)
                         : value * power_of_ten(std::min(exponent, kPowerMax));
  }
  if (std::isinf(value)) return fail(Code::kInvalid, "{}: out of the range of a number", number);
  return negative ? -value : value;
}

}  // namespace signalbox::tokenizer
