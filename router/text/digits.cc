// If each separator occurs once, the last one is the decimal point. A repeated separator marks
// thousands, or lakhs as in "1,50,000".

#include "router/text/digits.h"

#include <charconv>
#include <cmath>
#include <string>

namespace signalbox::text {

std::optional<Digits> read_digits(std::string_view written) {
  std::string plain;
  size_t dots = 0, commas = 0, last = std::string_view::npos;
  for (size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    if (c >= '0' && c <= '9') continue;
    dots += c == '.';
    commas += c == ',';
    if (c == '.' || c == ',') last = i;
  }
  const auto digits_after = [&](size_t at) {
    size_t n = 0;
    while (at + 1 + n < written.size() && written[at + 1 + n] >= '0' && written[at + 1 + n] <= '9')
      ++n;
    return n;
  };
  // After four digits or a leading zero, a comma cannot mark thousands.
  const bool after_whole = commas == 1 && (last > 3 || written[0] == '0');
  std::optional<size_t> point;
  if (dots == 1 && (commas == 0 || written.find('.') > written.rfind(','))) {
    point = written.find('.');
  } else if (commas == 1 &&
             (dots == 0 ? digits_after(last) != 3 || after_whole : last == written.find(','))) {
    point = written.find(',');
  } else if (dots > 1 || (dots == 1 && commas > 1)) {
    if (commas > 0) return std::nullopt;
  }
  for (size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    if (c >= '0' && c <= '9') {
      plain += c;
    } else if (point && i == *point) {
      plain += '.';
    } else if (c == ',' && commas > 1 && digits_after(i) == 2) {
      continue;
    } else if ((c == '.' || c == ',') && digits_after(i) != 3) {
      return std::nullopt;  // "1.2.3", "192.168.0.1"
    }
  }
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
