// The words of numbers as tables, and the reader of cardinals.

#include "router/text/number_words.h"

#include <algorithm>
#include <span>

namespace signalbox::text {
namespace {

struct Word {
  std::string_view word;
  double value;
};

// The index is the value.
constexpr std::string_view kSmall[] = {"zero",    "one",     "two",       "three",    "four",
                                       "five",    "six",     "seven",     "eight",    "nine",
                                       "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                       "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view kOrdinals[] = {
    "",           "first",     "second",    "third",       "fourth",     "fifth",     "sixth",
    "seventh",    "eighth",    "ninth",     "tenth",       "eleventh",   "twelfth",   "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth"};
// The index is a tenth of the value.
constexpr std::string_view kTens[] = {"",      "",      "twenty",  "thirty", "forty",
                                      "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::string_view kTenths[] = {"",          "",          "twentieth", "thirtieth",
                                        "fortieth",  "fiftieth",  "sixtieth",  "seventieth",
                                        "eightieth", "ninetieth", "hundredth"};
constexpr Word kScales[] = {{"hundred", 1e2}, {"thousand", 1e3},  {"lakh", 1e5},
                            {"million", 1e6}, {"mn", 1e6},        {"mln", 1e6},
                            {"crore", 1e7},   {"billion", 1e9},   {"bn", 1e9},
                            {"bln", 1e9},     {"trillion", 1e12}, {"tn", 1e12}};
// Denominators after a numerator or "a"; plurals have an "s".
constexpr Word kParts[] = {{"half", 2},       {"halve", 2}, {"third", 3},  {"quarter", 4},
                           {"fourth", 4},     {"fifth", 5}, {"sixth", 6},  {"seventh", 7},
                           {"eighth", 8},     {"ninth", 9}, {"tenth", 10}, {"twentieth", 20},
                           {"hundredth", 100}};
constexpr Word kSigns[] = {{"½", 1.0 / 2}, {"⅓", 1.0 / 3}, {"⅔", 2.0 / 3}, {"¼", 1.0 / 4},
                           {"¾", 3.0 / 4}, {"⅕", 1.0 / 5}, {"⅖", 2.0 / 5}, {"⅗", 3.0 / 5},
                           {"⅘", 4.0 / 5}, {"⅛", 1.0 / 8}, {"⅜", 3.0 / 8}, {"⅝", 5.0 / 8},
                           {"⅞", 7.0 / 8}};

std::optional<double> find(std::span<const std::string_view> words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end() || word.empty()) return std::nullopt;
  return static_cast<double>(found - words.begin());
}

std::optional<double> find(std::span<const Word> words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &Word::word);
  if (found == words.end()) return std::nullopt;
  return found->value;
}

size_t skip_and(const ReadText& text, size_t token) {
  return token + (text.at(token).is("and") ? 1 : 0);
}

// Reads a number below a hundred, which may end in an ordinal: "twelve", "twenty-third".
bool read_below_hundred(const ReadText& text, size_t token, Numeral& out) {
  const std::string_view word = text.at(token).lower;
  out.next = token + 1;
  if (const auto small = find(kSmall, word)) {
    out.value = *small;
    return true;
  }
  const auto tens = find(kTens, word);
  if (!tens) return false;
  out.value = *tens * 10;
  const size_t next = skip_hyphen(text, token + 1);
  const std::string_view ones = text.at(next).lower;
  const auto small = find(kSmall, ones), last = find(kOrdinals, ones);
  if (small && *small >= 1 && *small <= 9) {
    out.value += *small;
    out.next = next + 1;
  } else if (last && *last <= 9 && next > token + 1) {
    out.value += *last;
    out.next = next + 1;
    out.ordinal = true;
  }
  return true;
}

// Reads a number with its scale: "two hundred and five thousand", and with `article` "a hundred"
// if more of the number follows.
bool read_group(const ReadText& text, size_t token, bool article, double scale_before,
                Numeral& out) {
  if (!read_below_hundred(text, token, out)) {
    Numeral more;
    if (!article || !text.at(token).is("a") || !find(kScales, text.at(token + 1).lower) ||
        !read_below_hundred(text, skip_and(text, token + 2), more))
      return false;
    out.value = 1;
  }
  if (!out.ordinal && text.at(out.next).is("hundred")) {
    out.value *= 100;
    ++out.next;
    Numeral rest;
    if (read_below_hundred(text, skip_and(text, out.next), rest)) {
      out.value += rest.value;
      out.next = rest.next;
      out.ordinal = rest.ordinal;
    }
  }
  const auto scale = find(kScales, text.at(out.next).lower);
  if (!out.ordinal && scale && *scale > 100 && *scale < scale_before) {
    out.value *= *scale;
    out.scale = *scale;
    ++out.next;
  }
  return true;
}

}  // namespace

std::optional<double> scale_of(std::string_view word) {
  return find(kScales, word);
}

std::optional<double> fraction_sign(std::string_view sign) {
  return find(kSigns, sign);
}

std::optional<double> ordinal_of(std::string_view word) {
  if (const auto ordinal = find(kOrdinals, word)) return ordinal;
  const auto tens = find(kTenths, word);
  return tens ? std::optional(*tens * 10) : std::nullopt;
}

std::optional<double> denominator_of(std::string_view word) {
  if (word.ends_with('s')) word.remove_suffix(1);
  return find(kParts, word);
}

size_t skip_hyphen(const ReadText& text, size_t token) {
  const bool hyphen = is_one_of(text.at(token).text, {"-", "‐", "‑"});
  return hyphen && text.glued(token) && text.glued(token + 1) ? token + 1 : token;
}

bool read_cardinal(const ReadText& text, size_t token, Numeral& out) {
  double scale = 1e18;
  Numeral group;
  for (size_t at = token; read_group(text, at, at == token, scale, group); group = {}) {
    out.value += group.value;
    out.next = group.next;
    out.ordinal = group.ordinal;
    out.words = true;
    out.step = group.scale;
    out.scaled = out.scaled || group.scale > 1;
    if (group.scale == 1 || group.ordinal) break;
    scale = group.scale;
    at = skip_and(text, group.next);
  }
  if (!out.words) return false;
  Numeral years;
  if (!out.scaled && !out.ordinal && out.value >= 10 && out.value <= 20 && out.next == token + 1 &&
      read_below_hundred(text, out.next, years) && years.value >= 10 && !years.ordinal) {
    out.value = out.value * 100 + years.value;
    out.next = years.next;
  }
  return true;
}

}  // namespace signalbox::text
