// Reads a number in digits or in words, then what may extend it: a fraction, a power of ten, a
// scale such as "million", or the other number of a ratio.

#include "router/text/numeral.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "router/text/digits.h"
#include "router/text/units.h"

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

std::optional<double> ordinal_of(std::string_view word) {
  if (const auto ordinal = find(kOrdinals, word)) return ordinal;
  const auto tens = find(kTenths, word);
  return tens ? std::optional(*tens * 10) : std::nullopt;
}

std::optional<double> denominator_of(std::string_view word) {
  if (word.ends_with('s')) word.remove_suffix(1);
  return find(kParts, word);
}

// The token after a hyphen inside a word ("twenty-three"), or `token`.
size_t skip_hyphen(const ReadText& text, size_t token) {
  const bool hyphen = is_one_of(text.at(token).text, {"-", "‐", "‑"});
  return hyphen && text.glued(token) && text.glued(token + 1) ? token + 1 : token;
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

// Reads "one hundred and five thousand two hundred", and years such as "nineteen eighty-four".
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

void apply_scale(double scale, size_t next, Numeral& out) {
  out.value *= scale;
  out.step *= scale;
  out.scaled = true;
  out.fraction = false;
  out.next = next;
}

// Reads "half", "half a million", "half a dozen"; but not the first half, nor "half-time".
bool read_half(const ReadText& text, size_t token, Numeral& out) {
  const std::string_view noun = text.at(skip_hyphen(text, token + 1)).lower;
  if (is_one_of(noun, {"time", "life", "lives", "way", "term", "marathon"}) ||
      (token > 0 && is_one_of(text.at(token - 1).lower, {"first", "second", "1st", "2nd"})))
    return false;
  out = {.value = 0.5, .step = 0.1, .next = token + 1, .words = true, .fraction = true};
  size_t next = skip_hyphen(text, token + 1);
  if (is_one_of(text.at(next).lower, {"a", "an"})) ++next;
  if (text.at(next).is("dozen")) {
    out = {.value = 6, .next = next + 1, .words = true};
  } else if (const auto scale = find(kScales, text.at(next).lower)) {
    apply_scale(*scale, next + 1, out);
  }
  return true;
}

// Whether an ordinal before the token is a rank ("a fifth season") rather than a part.
bool is_rank_before(const Token& next) {
  return next.kind == TokenKind::kWord && dimension_of(next.lower) == Dimension::kNone &&
         !is_one_of(next.lower, {"of", "as", "the", "more", "less", "and", "or", "in", "are", "is",
                                 "were", "was", "have", "had", "to"});
}

// Reads "a hundred", "a dozen", "a third", "an hour", "½".
bool read_idiom(const ReadText& text, size_t token, Numeral& out) {
  const Token& first = text.at(token);
  if (const auto sign = find(kSigns, first.text)) {
    out = {.value = *sign, .step = 0.01, .next = token + 1, .fraction = true};
    return true;
  }
  if (first.is("half")) return read_half(text, token, out);
  const bool article = is_one_of(first.lower, {"a", "an"});
  const std::string_view noun = text.at(token + 1).lower;
  out = {.value = 1, .next = token + 2, .words = true};
  if (first.is("dozen") || (article && noun == "dozen")) {
    out.value = 12;
    if (!article) --out.next;
    return true;
  }
  if (!article) return false;
  const auto scale = find(kScales, noun), part = find(kParts, noun);
  if (noun == "couple") {
    out.value = 2;
    out.vague = true;
  } else if (scale && noun.size() > 2) {
    out.value = out.step = *scale;
    out.scaled = true;
  } else if (part && *part != 2 && *part != 4 &&
             is_rank_before(text.at(skip_hyphen(text, token + 2)))) {
    out.value = *part;
    out.ordinal = true;
  } else if (part) {
    out.value = 1 / *part;
    out.step = 0.01;
    out.fraction = true;
  } else {  // "an hour"
    out.vague = true;
    out.next = token + 1;
    return noun.size() > 2 && dimension_of(noun) != Dimension::kNone;
  }
  return true;
}

// Adds "and a half", "-and-a-half million".
void extend_half(const ReadText& text, Numeral& out) {
  const size_t at = skip_hyphen(text, out.next), article = skip_hyphen(text, at + 1);
  const size_t tail = skip_hyphen(text, article + 1);
  if (!text.at(at).is("and") || !text.at(article).is("a")) return;
  const std::string_view part = text.at(tail).lower;
  if (!is_one_of(part, {"half", "quarter"}) && !(part == "third" && out.words)) return;
  out.value += 1 / *find(kParts, part);
  out.step = 0.1;
  out.next = tail + 1;
  if (const auto scale = find(kScales, text.at(out.next).lower))
    apply_scale(*scale, out.next + 1, out);
}

// Extends a cardinal: "two thirds", "two and a half", "two dozen".
void extend_words(const ReadText& text, Numeral& out) {
  const size_t next = skip_hyphen(text, out.next);
  const std::string_view word = text.at(next).lower;
  if (word == "dozen") {
    out.value *= 12;
    out.next = next + 1;
    return;
  }
  const auto part = denominator_of(word);
  if (part && out.value >= 1 && out.value < *part && (word.ends_with('s') || out.value == 1)) {
    out.value /= *part;
    out.step = 0.01;
    out.next = next + 1;
    out.fraction = true;
    return;
  }
  extend_half(text, out);
}

// Reads "3/4" at the token; 0 if there is no fraction.
double fraction_at(const ReadText& text, size_t token) {
  const int32_t above = small_number(text.at(token).text);
  const int32_t below = small_number(text.at(token + 2).text);
  const bool is = above > 0 && above < below && text.at(token + 1).is("/") &&
                  text.glued(token + 1) && text.glued(token + 2) &&
                  !(text.at(token + 3).is("/") && text.glued(token + 3));
  return is ? static_cast<double>(above) / below : 0;
}

void offer_parts(const ReadText& text, double above, double below, Numeral& out) {
  if (!text.is_context()) return;
  out.parts = {above, below};
  out.part_count = 2;
}

// Extends digits to "1½", "3/4", "1 1/2".
void extend_fraction(const ReadText& text, size_t token, Numeral& out) {
  const auto sign = find(kSigns, text.at(out.next).text);
  if (sign && text.glued(out.next)) {
    out.value += *sign;
    out.step = 0.01;
    ++out.next;
  } else if (const double value = fraction_at(text, token); value > 0) {
    offer_parts(text, out.value, small_number(text.at(token + 2).text), out);
    out.value = value;
    out.step = 0.005;
    out.next = token + 3;
    out.fraction = true;
  } else if (const double tail = fraction_at(text, out.next);
             tail > 0 && text.at(out.next).begin == text.at(token).end + 1) {
    out.value += tail;
    out.step = 0.01;
    out.next += 3;
  }
}

// Extends digits by a power of ten: "1.496 × 10^8", "3.2e5".
bool extend_power(const ReadText& text, Numeral& out) {
  const Token& mark = text.at(out.next);
  const bool sign = is_one_of(mark.lower, {"×", "x", "*", "·"}) &&
                    text.at(out.next + 1).text == "10" && text.at(out.next + 2).is("^");
  const bool letter =
      mark.kind == TokenKind::kIdentifier && text.glued(out.next) && mark.lower[0] == 'e';
  if (!sign && !letter) return false;
  const int32_t power = small_number(sign ? text.at(out.next + 3).text : mark.text.substr(1));
  if (power < 1) return false;
  out.scale = std::pow(10, power);
  out.other.reset();
  apply_scale(out.scale, out.next + (sign ? 4 : 1), out);
  return true;
}

// Extends digits by a scale: "1.2 million", "5k", "2-billion".
void extend_scale(const ReadText& text, Numeral& out) {
  const Token& after = text.at(out.next);
  size_t next = skip_hyphen(text, out.next);
  double scale = 1;
  if (text.opens_sentence(next)) return;
  if (text.at(next).is("dozen")) {
    out.value *= 12;
    out.next = next + 1;
    return;
  }
  if (const auto found = find(kScales, text.at(next).lower)) {
    scale = *found;
    const auto more = find(kScales, text.at(next + 1).lower);  // "5 hundred thousand"
    if (more && *more > scale) {
      scale *= *more;
      ++next;
    }
  } else if (text.glued(out.next) && is_one_of(after.text, {"k", "K", "M", "B"})) {
    next = out.next;
    scale = after.text == "M" ? 1e6 : after.text == "B" ? 1e9 : 1e3;
  }
  if (scale == 1) return;
  out.scale = scale;
  out.other.reset();
  apply_scale(scale, next + 1, out);
}

bool read_digit_number(const ReadText& text, size_t token, Numeral& out) {
  const auto digits = read_digits(text.at(token).text);
  if (!digits) return false;
  out = {.value = digits->value, .step = digits->step, .other = digits->other, .next = token + 1};
  extend_fraction(text, token, out);
  // Not "£64 and a half plot £36".
  if (out.step == 1 && !out.fraction && !read_currency_before(text, token)) extend_half(text, out);
  if (extend_power(text, out) || out.scaled) return true;
  if (text.glued(out.next) && is_one_of(text.at(out.next).lower, {"st", "nd", "rd", "th"})) {
    out.ordinal = true;
    ++out.next;
  } else {
    extend_scale(text, out);
  }
  return true;
}

// Extends a number to a ratio: "one in four", "3 out of 5", "two of every ten".
void extend_ratio(const ReadText& text, Numeral& out) {
  size_t at = out.next + 1;
  const bool in = text.at(out.next).is("in");
  if (text.at(out.next).is("out") && text.at(at).is("of")) {
    ++at;
  } else if (!in &&
             !(text.at(out.next).is("of") && is_one_of(text.at(at).lower, {"every", "each"}))) {
    return;
  }
  if (is_one_of(text.at(at).lower, {"every", "each"})) ++at;
  Numeral all;
  if (const auto digits = read_digits(text.at(at).text);
      digits && text.at(at).kind == TokenKind::kNumber) {
    all = {.value = digits->value, .next = at + 1};
  } else if (!read_cardinal(text, at, all)) {
    return;
  }
  const bool year = in && text.at(at).text.size() == 4 && all.value >= 1e3 && all.value < 2200;
  if (out.value < 1 || out.value > all.value || year) return;
  if (dimension_of(text.at(all.next).lower) != Dimension::kNone) return;  // "one in 5 days"
  offer_parts(text, out.value, all.value, out);
  out.value /= all.value;
  out.step = 0.01 * out.value;
  out.next = all.next;
  out.fraction = true;
  out.vague = false;
}

// Reads "twice a day" in a context as two times.
bool read_times(const ReadText& text, size_t token, Numeral& out) {
  const Token& word = text.at(token);
  if (!text.is_context() || !is_one_of(word.lower, {"once", "twice", "thrice"})) return false;
  const bool often = is_one_of(text.at(token + 1).lower, {"a", "an", "per", "every", "each",
                                                          "daily", "weekly", "monthly", "yearly"});
  if (word.is("once") && !often) return false;  // "once it was built"
  out = {.value = word.is("once") ? 1.0 : word.is("twice") ? 2.0 : 3.0, .next = token + 1};
  out.words = true;
  return true;
}

}  // namespace

std::optional<Numeral> read_numeral(const ReadText& text, size_t token) {
  const Token& first = text.at(token);
  Numeral out;
  if (first.kind == TokenKind::kIdentifier) return std::nullopt;
  if (first.kind == TokenKind::kNumber) {
    if (!read_digit_number(text, token, out)) return std::nullopt;
  } else if (read_cardinal(text, token, out)) {
    if (!out.ordinal) extend_words(text, out);
    out.vague = out.value == 1 && out.next == token + 1;
  } else if (const auto ordinal = ordinal_of(first.lower)) {
    out = {.value = *ordinal,
           .next = token + 1,
           .ordinal = true,
           .vague = *ordinal <= 2,
           .words = true};
  } else if (!read_times(text, token, out) && !read_idiom(text, token, out)) {
    return std::nullopt;
  }
  if (!out.ordinal && !out.scaled) extend_ratio(text, out);
  return out;
}

}  // namespace signalbox::text
