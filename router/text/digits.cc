// If each separator occurs once, the last one is the decimal point. A repeated separator marks
// thousands, or lakhs as in "1,50,000".

#include "router/text/digits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/ascii.h"

namespace signalbox::text {

namespace {

size_t digits_after(std::string_view written, size_t at) {
  size_t n = 0;
  while (at + 1 + n < written.size() && ascii::is_digit(written[at + 1 + n])) ++n;
  return n;
}

/// The place of the decimal point; nullopt if there is none.
std::optional<size_t> point_of(std::string_view written, size_t dots, size_t commas) {
  const size_t dot = written.rfind('.'), comma = written.rfind(',');
  if (dots == 1 && (commas == 0 || dot > comma)) return dot;
  if (commas != 1) return std::nullopt;
  if (dots > 0) return comma > dot ? std::optional(comma) : std::nullopt;
  // After four digits or a leading zero, a comma cannot mark thousands.
  const bool is_thousands = digits_after(written, comma) == 3 && comma <= 3 && written[0] != '0';
  return is_thousands ? std::nullopt : std::optional(comma);
}

/// The digits with a dot as the decimal point, and without other separators. nullopt if one of
/// these does not stand before three digits, or before two in lakhs.
std::optional<std::string> plain_of(std::string_view written, std::optional<size_t> point,
                                    size_t commas) {
  std::string out;
  for (size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    if (ascii::is_digit(c)) {
      out += c;
    } else if (point == i) {
      out += '.';
    } else if (c == '.' || c == ',') {
      const bool is_lakh = c == ',' && commas > 1 && digits_after(written, i) == 2;
      if (!is_lakh && digits_after(written, i) != 3) return std::nullopt;  // "1.2.3"
    }
  }
  return out;
}

}  // namespace

std::optional<Digits> read_digits(std::string_view written) {
  const auto dots = static_cast<size_t>(std::ranges::count(written, '.'));
  const auto commas = static_cast<size_t>(std::ranges::count(written, ','));
  const std::optional<size_t> point = point_of(written, dots, commas);
  if (!point && dots > 0 && commas > 0) return std::nullopt;
  const std::optional<std::string> digits = plain_of(written, point, commas);
  if (!digits) return std::nullopt;
  const std::string& plain = *digits;
  Digits out;
  const auto read = std::from_chars(plain.data(), plain.data() + plain.size(), out.value);
  if (read.ec != std::errc() || !std::isfinite(out.value)) return std::nullopt;
  if (point) {
    const size_t decimals = plain.size() - plain.find('.') - 1;
    out.step = std::pow(10, -static_cast<double>(decimals));
    if (decimals == 3 && written[*point] == '.' && *point <= 3 && written[0] != '0')
      out.other = out.value * 1000;
  }
  return out;
}

int32_t small_number(std::string_view written) {
  int32_t value = -1;
  const char* end = written.data() + written.size();
  const auto [stop, error] = std::from_chars(written.data(), end, value);
  return written.size() <= 2 && error == std::errc() && stop == end ? value : -1;
}

}  // namespace signalbox::text
