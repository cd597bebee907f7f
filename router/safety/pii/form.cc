// A form is necessary, not sufficient: the rules check more, but they need a word nearby where the
// model needs none.

#include "router/safety/pii/form.h"

#include <algorithm>
#include <array>
#include <string>

#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

struct Counts {
  size_t digits = 0, letters = 0, runs = 0;  // runs of letters and digits
  size_t dots = 0, colons = 0, slashes = 0;
};

Counts count(std::string_view text) {
  Counts out;
  bool in_run = false;
  for (const char c : text) {
    out.digits += is_digit(c) ? 1 : 0;
    out.letters += ascii::is_word_byte(c) && !is_digit(c) ? 1 : 0;
    out.dots += c == '.' ? 1 : 0;
    out.colons += c == ':' ? 1 : 0;
    out.slashes += c == '/' ? 1 : 0;
    const bool is_run = ascii::is_word_byte(c);
    out.runs += is_run && !in_run ? 1 : 0;
    in_run = is_run;
  }
  return out;
}

// "00:1b:44:11:3a:b7" and "00-1B-44-11-3A-B7".
bool is_hardware_address(std::string_view text) {
  constexpr size_t kBytes = 17;
  if (text.size() != kBytes) return false;
  for (size_t i = 0; i < kBytes; ++i) {
    const bool is_gap = i % 3 == 2;
    if (is_gap ? text[i] != text[2] || (text[i] != ':' && text[i] != '-') : !is_hex(text[i]))
      return false;
  }
  return true;
}

// Seconds or milliseconds since 1970, of this century. No area code begins with 1.
bool is_unix_time(std::string_view text) {
  return (text.size() == 10 || text.size() == 13) && text.front() == '1' &&
         std::ranges::all_of(text, is_digit);
}

// "36022/97", "2:21-cv-01234": the number of a case.
bool is_case_number(std::string_view text, const Counts& counts) {
  if (counts.slashes != 1) return counts.colons == 1 && counts.letters > 0 && counts.digits > 3;
  const size_t slash = text.find('/');
  const size_t before = slash, after = text.size() - slash - 1;
  return counts.letters == 0 && counts.runs == 2 && before > 3 && (after == 2 || after == 4);
}

bool names_time(std::string_view text) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"apr",   "aug", "day", "dec", "feb", "fri", "jan", "jul", "jun", "mar",  "may", "mon",
       "month", "nov", "oct", "sat", "sep", "sun", "thu", "tue", "wed", "week", "year"});
  const std::string lower = ascii::lower_case(text);
  return std::ranges::any_of(
      kNames, [&](std::string_view name) { return lower.find(name) != std::string::npos; });
}

bool is_mailbox(std::string_view text) {
  if (text.find('@') != std::string_view::npos || text.find("%40") != std::string_view::npos)
    return true;
  const std::string lower = ascii::lower_case(text);
  for (const std::string_view entity : {"&#64;", "&#x40;", "&commat;"}) {
    if (lower.find(entity) != std::string::npos) return true;
  }
  return lower.find("dot") != std::string::npos &&
         (lower.find("(at)") != std::string::npos || lower.find("[at]") != std::string::npos ||
          lower.find(" at ") != std::string::npos);
}

}  // namespace

bool has_form(std::string_view type, std::string_view text) {
  if (text.empty()) return false;
  const Counts counts = count(text);
  if (type == kEmail) return is_mailbox(text);
  if (type == kDomain) return counts.dots > 0 && counts.letters > 1;
  const bool is_number = type == kIp || type == kCreditCard || type == kPhone || type == kSsn ||
                         type == kZip || type == kIban || type == kDate || type == kLicense;
  if (!is_number) return true;
  if (is_hardware_address(text) || is_unix_time(text)) return false;
  if (is_case_number(text, counts) && type != kDate) return false;
  if (type == kIp) return (counts.dots == 3 && counts.digits >= 4) || counts.colons >= 2;
  if (type == kCreditCard) return counts.digits >= 12 && counts.digits <= 19;
  if (type == kPhone) return counts.digits >= 6 && counts.digits <= 20 && counts.letters <= 9;
  if (type == kSsn) return counts.digits == 9;
  if (type == kZip) return counts.digits >= 2 && counts.digits + counts.letters <= 10;
  if (type == kIban) {
    const size_t size = counts.digits + counts.letters;
    return is_alpha(text.front()) && counts.digits >= 4 && size >= 15 && size <= 34;
  }
  if (type == kLicense) return counts.digits >= 3;
  return counts.digits > 0 || names_time(text);
}

}  // namespace signalbox::pii
