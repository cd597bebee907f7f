// Finds numbers that identify an account or a person: cards (ISO/IEC 7812), IBANs (ISO 13616),
// social security numbers (SSA, "Structure of a Social Security Number"), driver licences, postal
// codes.

#include <algorithm>

#include "router/safety/pii/scan.h"

namespace signalbox::pii {
namespace {

constexpr size_t kCardDigitsMin = 12;
constexpr size_t kCardDigitsMax = 19;

// A range of leading digits of a brand's cards, from `low` to `high` with `digits` digits each, and
// the possible lengths of the card number.
struct Brand {
  uint32_t low, high;
  uint8_t digits;
  uint8_t shortest, longest;
  uint8_t step = 1;
};
constexpr std::array kBrands = {
    Brand{4, 4, 1, 13, 19, 3},     // Visa
    Brand{51, 55, 2, 16, 16},      // Mastercard
    Brand{2221, 2720, 4, 16, 16},  // Mastercard
    Brand{34, 34, 2, 15, 15},      // American Express
    Brand{37, 37, 2, 15, 15},      //
    Brand{300, 305, 3, 14, 19},    // Diners Club
    Brand{3095, 3095, 4, 14, 19},  //
    Brand{36, 36, 2, 14, 19},      //
    Brand{38, 39, 2, 14, 19},      //
    Brand{6011, 6011, 4, 16, 19},  // Discover
    Brand{644, 649, 3, 16, 19},    //
    Brand{65, 65, 2, 16, 19},      //
    Brand{35, 35, 2, 16, 19},      // JCB
    Brand{1800, 1800, 4, 15, 15},  //
    Brand{2131, 2131, 4, 15, 15},  //
    Brand{62, 62, 2, 16, 19},      // UnionPay
    Brand{2200, 2204, 4, 16, 19},  // Mir
    Brand{60, 60, 2, 16, 16},      // RuPay
    Brand{81, 82, 2, 16, 16},      //
    Brand{508, 508, 3, 16, 16},    //
    Brand{9792, 9792, 4, 16, 16},  // Troy
    Brand{5019, 5019, 4, 16, 16},  // Dankort
    Brand{5067, 5067, 4, 16, 16},  // Elo
    Brand{509, 509, 3, 16, 16},    //
    Brand{5061, 5061, 4, 16, 19},  // Verve
    Brand{8600, 8600, 4, 16, 16},  // Uzcard
    Brand{9860, 9860, 4, 16, 16},  // Humo
    Brand{6277, 6277, 4, 16, 16},  //
    Brand{6362, 6363, 4, 16, 16},  //
    Brand{604, 604, 4, 12, 19},    // Maestro: 0604
    Brand{5018, 5018, 4, 12, 19},  //
    Brand{5020, 5020, 4, 12, 19},  //
    Brand{5038, 5038, 4, 12, 19},  //
    Brand{5612, 5612, 4, 12, 19},  //
    Brand{5893, 5893, 4, 12, 19},  //
    Brand{6304, 6304, 4, 12, 19},  //
    Brand{6390, 6390, 4, 12, 19},  //
    Brand{6759, 6759, 4, 12, 19},  //
    Brand{6761, 6763, 4, 12, 19},  //
};

struct Digits {
  std::array<uint8_t, kCardDigitsMax> value;
  size_t count = 0;
};

bool passes_luhn(const Digits& digits) {
  uint32_t sum = 0;
  for (size_t i = 0; i < digits.count; ++i) {
    uint32_t digit = digits.value[digits.count - 1 - i];
    if (i % 2 == 1) digit = digit > 4 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 == 0;
}

bool is_of_brand(const Digits& digits) {
  std::array<uint32_t, 5> prefix{};  // by length
  for (size_t i = 0; i < 4; ++i) prefix[i + 1] = prefix[i] * 10 + digits.value[i];
  return std::any_of(kBrands.begin(), kBrands.end(), [&](const Brand& brand) {
    return prefix[brand.digits] >= brand.low && prefix[brand.digits] <= brand.high &&
           digits.count >= brand.shortest && digits.count <= brand.longest &&
           (digits.count - brand.shortest) % brand.step == 0;
  });
}

// Accepts groups as cards have them: four digits, then groups of four to six, then a rest.
bool is_card(const Text& text, const Groups& groups, size_t count, bool has_cue) {
  Digits digits;
  for (size_t i = 0; i < count; ++i) {
    const auto& group = groups.at[i];
    if (count > 1 && i == 0 && group.size() != 4) return false;
    if (i > 0 && group.before != groups.at[1].before) return false;
    if (i > 0 && (group.size() > 6 || (i + 1 < count && group.size() < 4))) return false;
    if (digits.count + group.size() > kCardDigitsMax) return false;
    for (size_t at = group.begin; at < group.end; ++at)
      digits.value[digits.count++] = static_cast<uint8_t>(text[at] - '0');
  }
  return digits.count >= kCardDigitsMin && (has_cue || is_of_brand(digits)) && passes_luhn(digits);
}

// True for a part of a longer number, of a fraction or of a word. A comma does not count, because
// it separates the fields of a row.
bool is_part_of_number(const Text& text, size_t begin, size_t end) {
  const char before = text[begin - 1];
  if ((before == '.' || before == '-') && is_digit(text[begin - 2])) return true;
  if (is_alnum(text[end])) return true;
  return text[end] == '.' && is_digit(text[end + 1]);
}

struct Country {
  char code[3];
  uint8_t length;  // of the whole IBAN
};
constexpr std::array kCountries = {
    Country{"AD", 24}, Country{"AE", 23}, Country{"AL", 28}, Country{"AO", 25}, Country{"AT", 20},
    Country{"AZ", 28}, Country{"BA", 20}, Country{"BE", 16}, Country{"BF", 28}, Country{"BG", 22},
    Country{"BH", 22}, Country{"BI", 27}, Country{"BJ", 28}, Country{"BR", 29}, Country{"BY", 28},
    Country{"CF", 27}, Country{"CG", 27}, Country{"CH", 21}, Country{"CI", 28}, Country{"CM", 27},
    Country{"CR", 22}, Country{"CV", 25}, Country{"CY", 28}, Country{"CZ", 24}, Country{"DE", 22},
    Country{"DJ", 27}, Country{"DK", 18}, Country{"DO", 28}, Country{"DZ", 26}, Country{"EE", 20},
    Country{"EG", 29}, Country{"ES", 24}, Country{"FI", 18}, Country{"FK", 18}, Country{"FO", 18},
    Country{"FR", 27}, Country{"GA", 27}, Country{"GB", 22}, Country{"GE", 22}, Country{"GI", 23},
    Country{"GL", 18}, Country{"GQ", 27}, Country{"GR", 27}, Country{"GT", 28}, Country{"GW", 25},
    Country{"HN", 28}, Country{"HR", 21}, Country{"HU", 28}, Country{"IE", 22}, Country{"IL", 23},
    Country{"IQ", 23}, Country{"IR", 26}, Country{"IS", 26}, Country{"IT", 27}, Country{"JO", 30},
    Country{"KM", 27}, Country{"KW", 30}, Country{"KZ", 20}, Country{"LB", 28}, Country{"LC", 32},
    Country{"LI", 21}, Country{"LT", 20}, Country{"LU", 20}, Country{"LV", 21}, Country{"LY", 25},
    Country{"MA", 28}, Country{"MC", 27}, Country{"MD", 24}, Country{"ME", 22}, Country{"MG", 27},
    Country{"MK", 19}, Country{"ML", 28}, Country{"MN", 20}, Country{"MR", 27}, Country{"MT", 31},
    Country{"MU", 30}, Country{"MZ", 25}, Country{"NE", 28}, Country{"NI", 28}, Country{"NL", 18},
    Country{"NO", 15}, Country{"OM", 23}, Country{"PK", 24}, Country{"PL", 28}, Country{"PS", 29},
    Country{"PT", 25}, Country{"QA", 29}, Country{"RO", 24}, Country{"RS", 22}, Country{"RU", 33},
    Country{"SA", 24}, Country{"SC", 31}, Country{"SD", 18}, Country{"SE", 24}, Country{"SI", 19},
    Country{"SK", 24}, Country{"SM", 27}, Country{"SN", 28}, Country{"SO", 23}, Country{"ST", 25},
    Country{"SV", 28}, Country{"TD", 27}, Country{"TG", 28}, Country{"TL", 23}, Country{"TN", 24},
    Country{"TR", 26}, Country{"UA", 29}, Country{"VA", 22}, Country{"VG", 24}, Country{"XK", 20},
    Country{"YE", 30},
};
constexpr size_t kIbanMax = 34;

size_t iban_length(char first, char second) {
  for (const Country& country : kCountries) {
    if (country.code[0] == first && country.code[1] == second) return country.length;
  }
  return 0;
}

// Treats the first four characters as the last, and a letter as two digits.
uint32_t mod_97(const std::array<char, kIbanMax>& iban, size_t length) {
  uint32_t rest = 0;
  for (size_t i = 0; i < length; ++i) {
    const char c = iban[(i + 4) % length];
    rest = is_digit(c) ? rest * 10 + static_cast<uint32_t>(c - '0')
                       : rest * 100 + static_cast<uint32_t>(c - 'A' + 10);
    rest %= 97;
  }
  return rest;
}

// Accepts more separators between the groups of an IBAN than elsewhere, because its check digits
// leave little to chance: a line break, several spaces, and a space in URL encoding.
Separator iban_gap(const Text& text, size_t at) {
  constexpr size_t kSpacesMax = 3;
  if (text[at] == '+') return {' ', 1};
  if (text.bytes().substr(std::min(at, text.size())).starts_with("%20")) return {' ', 3};
  size_t end = at;
  while (end - at < kSpacesMax && is_space(text[end])) ++end;
  return end > at ? Separator{' ', end - at} : separator_at(text, at);
}

bool has_sizes(const Groups& groups, size_t a, size_t b, size_t c) {
  return groups.at[0].size() == a && groups.at[1].size() == b && groups.at[2].size() == c;
}

bool is_ssn(uint32_t area, uint32_t group, uint32_t serial) {
  return area != 0 && area != 666 && area < 900 && group != 0 && serial != 0;
}

// True if the text between "zip" and the code consists only of filler words.
bool has_only_filler_words(const Text& text, size_t begin, size_t end) {
  while (begin < end) {
    if (!is_alpha(text[begin])) {
      ++begin;
      continue;
    }
    const size_t word = begin;
    while (begin < end && is_alpha(text[begin])) ++begin;
    const std::string_view view = text.from(word, begin);
    constexpr std::array kFillerWords = {"code", "codes", "is", "was", "number", "no", "s", "the"};
    if (std::none_of(kFillerWords.begin(), kFillerWords.end(),
                     [&](std::string_view filler) { return same_word(view, filler); }))
      return false;
  }
  return true;
}

// Finds the end of "K1A 0B1", "SW1A 1AA": letters (a) and digits (9) with an optional space between
// the halves.
size_t postcode_end(const Text& text, size_t at) {
  constexpr std::array<std::string_view, 7> kShapes = {"a9a 9a9",  "a9 9aa",  "a99 9aa", "aa9 9aa",
                                                       "aa99 9aa", "a9a 9aa", "aa9a 9aa"};
  for (const std::string_view shape : kShapes) {
    size_t end = at;
    const bool fits = std::all_of(shape.begin(), shape.end(), [&](char kind) {
      if (kind == ' ' && text[end] != ' ') return true;
      const char c = text[end++];
      if (kind == ' ') return true;
      return kind == 'a' ? is_alpha(c) : is_digit(c);
    });
    if (fits && !is_alnum(text[end])) return end;
  }
  return 0;
}

// True for years: "expires 2027-05-31", "in 2019-2020".
bool is_date_or_years(const Text& text, size_t at, size_t end, const Cues& cues) {
  if (!is_digit(text[at])) return false;
  if (find_date(text, at, cues)) return true;
  const auto is_year = [&](size_t from) {
    return text.digits_end(from) == from + 4 && (text[from] == '1' || text[from] == '2');
  };
  return end - at == 9 && text[at + 4] == '-' && is_year(at) && is_year(at + 5);
}

// The bytes of the separator of a card's digits that people use to get around a mask: a slash, a
// line break, or a space or dash after every digit.
size_t spread_gap(const Text& text, size_t at) {
  if (text[at] == '/' || text[at] == '\n') return 1;
  if (text[at] == '\r' && text[at + 1] == '\n') return 2;
  return separator_at(text, at).bytes;
}

// Finds "4111/1111/1111/1111", the same over four lines, and "4 1 1 1 1 1 ...": groups of one, two
// or four digits with the same separator.
Found find_spread_card(const Text& text, size_t at, size_t group) {
  constexpr size_t kDigits = 13;  // fewer digits in small groups are too often something else
  if (group != 1 && group != 2 && group != 4) return std::nullopt;
  Digits digits;
  size_t end = at;
  char separator = '\0';  // the same between all groups, except for line breaks
  for (;;) {
    const size_t group_end = text.digits_end(end);
    const size_t size = group_end - end;
    if (size == 0 || size > group || digits.count + size > kCardDigitsMax) return std::nullopt;
    for (; end < group_end; ++end)
      digits.value[digits.count++] = static_cast<uint8_t>(text[end] - '0');
    const size_t gap = spread_gap(text, end);
    if (gap == 0 || size < group || !is_digit(text[end + gap])) break;
    const bool is_break = text[end] == '\n' || text[end] == '\r';
    if (!is_break && separator != '\0' && text[end] != separator) break;
    if (!is_break) separator = text[end];
    end += gap;
  }
  const bool is_whole = digits.count >= kDigits && !is_part_of_number(text, at, end);
  if (!is_whole || !is_of_brand(digits) || !passes_luhn(digits)) return std::nullopt;
  return Match{kCreditCard, at, end, kChecked};
}

}  // namespace

Found find_card(const Text& text, size_t at, size_t digits_end, const Cues& cues) {
  constexpr size_t kNear = 32;
  if (const Found spread = find_spread_card(text, at, digits_end - at)) return spread;
  const size_t first = digits_end - at;
  if (first != 4 && (first < kCardDigitsMin || first > kCardDigitsMax)) return std::nullopt;
  const Groups groups = groups_at(text, at);
  const bool has_cue = text[at] != '0' && cues.near(Cue::kCard, at, kNear);
  for (size_t count = groups.count; count > 0; --count) {
    const size_t end = groups.at[count - 1].end;
    if (is_part_of_number(text, at, end)) continue;
    const bool continues = count > 1 && count < groups.count && groups.at[1].before != ' ' &&
                           groups.at[count].before == groups.at[1].before;
    if (!continues && is_card(text, groups, count, has_cue))
      return Match{kCreditCard, at, end, kChecked};
  }
  return std::nullopt;
}

Found find_ssn(const Text& text, size_t at, size_t digits_end, const Cues& cues) {
  constexpr size_t kNear = 40;
  const size_t size = digits_end - at;
  if (size != 3 && size != 9) return std::nullopt;
  const bool has_cue = cues.near(Cue::kSsn, at, kNear);
  if (size == 9) {
    const bool valid = has_cue && !is_part_of_number(text, at, digits_end) &&
                       is_ssn(text.number(at, at + 3), text.number(at + 3, at + 5),
                              text.number(at + 5, digits_end));
    return valid ? Found(Match{kSsn, at, digits_end, kInContext}) : std::nullopt;
  }
  const Groups groups = groups_at(text, at);
  if (groups.count < 3 || !has_sizes(groups, 3, 2, 4)) return std::nullopt;
  const char separator = groups.at[1].before;
  const size_t end = groups.at[2].end;
  if (groups.at[2].before != separator || (separator != '-' && !has_cue)) return std::nullopt;
  const bool continues = groups.count > 3 && groups.at[3].before == '-';
  if (continues || is_part_of_number(text, at, end)) return std::nullopt;
  const bool valid =
      is_ssn(text.number(at, digits_end), text.number(groups.at[1].begin, groups.at[1].end),
             text.number(groups.at[2].begin, end));
  if (!valid) return std::nullopt;
  return Match{kSsn, at, end, kChecked};
}

Found find_iban(const Text& text, size_t at) {
  if (!is_alpha(text[at]) || !is_alpha(text[at + 1])) return std::nullopt;
  size_t end = at + 2;
  end += separator_at(text, end).kind == ' ' ? separator_at(text, end).bytes : 0;
  if (!is_digit(text[end]) || !is_digit(text[end + 1])) return std::nullopt;
  const size_t length = iban_length(upper(text[at]), upper(text[at + 1]));
  std::array<char, kIbanMax> iban{};
  char separators = '\0';
  end = at;
  for (size_t count = 0; count < length;) {
    if (is_alnum(text[end])) {
      iban[count++] = upper(text[end++]);
      continue;
    }
    const Separator separator = iban_gap(text, end);
    if (separator.kind == '\0') return std::nullopt;
    if (separators != '\0' && separators != separator.kind) return std::nullopt;
    if (!is_alnum(text[end + separator.bytes])) return std::nullopt;
    separators = separator.kind;
    end += separator.bytes;
  }
  if (length == 0 || is_alnum(text[end]) || mod_97(iban, length) != 1) return std::nullopt;
  return Match{kIban, at, end, kChecked};
}

Found find_license(const Text& text, size_t at, const Cues& cues) {
  constexpr size_t kNear = 40;
  constexpr size_t kDigitsMin = 5, kBytesMin = 6, kBytesMax = 20;
  if (!cues.near(Cue::kLicense, at, kNear) || !cues.is_last(Cue::kLicense)) return std::nullopt;
  size_t end = at;
  size_t digits = 0;
  while (end - at <= kBytesMax &&
         (is_alnum(text[end]) || (text[end] == '-' && is_alnum(text[end + 1])))) {
    digits += is_digit(text[end++]) ? 1 : 0;
  }
  const size_t size = end - at;
  if (digits < kDigitsMin || size < kBytesMin || size > kBytesMax) return std::nullopt;
  if (is_date_or_years(text, at, end, cues)) return std::nullopt;
  return Match{kLicense, at, end, kInContext};
}

Found find_zip(const Text& text, size_t at, const Cues& cues) {
  constexpr size_t kNear = 24;
  if (!cues.near(Cue::kZip, at, kNear) || !has_only_filler_words(text, cues.end_of(Cue::kZip), at))
    return std::nullopt;
  if (!is_digit(text[at])) {
    const size_t end = postcode_end(text, at);
    return end == 0 ? std::nullopt : Found(Match{kZip, at, end, kInContext});
  }
  const Groups groups = groups_at(text, at);
  const size_t first = groups.at[0].size();
  const size_t second = groups.count > 1 && groups.at[1].before != '.' ? groups.at[1].size() : 0;
  const bool in_two = (first == 5 && groups.at[1].before == '-' && (second == 3 || second == 4)) ||
                      (first == 3 && second == 2) || (first == 2 && second == 3);
  const size_t end = groups.at[in_two ? 1 : 0].end;
  if (!in_two && (first < 3 || first > 6)) return std::nullopt;
  if (is_alnum(text[end])) return std::nullopt;
  return Match{kZip, at, end, kInContext};
}

}  // namespace signalbox::pii
