// Digits with their separators, words with theirs, idioms and fractions.

#include "router/safety/grounding/numeral.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "router/safety/grounding/digits.h"
#include "router/safety/grounding/units.h"

namespace signalbox::grounding {
namespace {

struct Word {
  std::string_view word;
  double value;
};

constexpr auto kSmall = std::to_array<Word>(
    {{"zero", 0},     {"one", 1},      {"two", 2},        {"three", 3},     {"four", 4},
     {"five", 5},     {"six", 6},      {"seven", 7},      {"eight", 8},     {"nine", 9},
     {"ten", 10},     {"eleven", 11},  {"twelve", 12},    {"thirteen", 13}, {"fourteen", 14},
     {"fifteen", 15}, {"sixteen", 16}, {"seventeen", 17}, {"eighteen", 18}, {"nineteen", 19}});
constexpr auto kTens = std::to_array<Word>({{"twenty", 20},
                                            {"thirty", 30},
                                            {"forty", 40},
                                            {"fourty", 40},
                                            {"fifty", 50},
                                            {"sixty", 60},
                                            {"seventy", 70},
                                            {"eighty", 80},
                                            {"ninety", 90}});
constexpr auto kScales = std::to_array<Word>({{"hundred", 1e2},
                                              {"thousand", 1e3},
                                              {"lakh", 1e5},
                                              {"million", 1e6},
                                              {"mn", 1e6},
                                              {"mln", 1e6},
                                              {"crore", 1e7},
                                              {"billion", 1e9},
                                              {"bn", 1e9},
                                              {"bln", 1e9},
                                              {"trillion", 1e12},
                                              {"tn", 1e12},
                                              {"quadrillion", 1e15}});
constexpr auto kOrdinals = std::to_array<Word>(
    {{"first", 1},        {"second", 2},      {"third", 3},       {"fourth", 4},
     {"fifth", 5},        {"sixth", 6},       {"seventh", 7},     {"eighth", 8},
     {"ninth", 9},        {"tenth", 10},      {"eleventh", 11},   {"twelfth", 12},
     {"thirteenth", 13},  {"fourteenth", 14}, {"fifteenth", 15},  {"sixteenth", 16},
     {"seventeenth", 17}, {"eighteenth", 18}, {"nineteenth", 19}, {"twentieth", 20},
     {"thirtieth", 30},   {"fortieth", 40},   {"fiftieth", 50},   {"sixtieth", 60},
     {"seventieth", 70},  {"eightieth", 80},  {"ninetieth", 90},  {"hundredth", 100}});
// Parts of one, after a numerator or "a".
constexpr auto kParts = std::to_array<Word>(
    {{"half", 2},       {"halves", 2},      {"third", 3},       {"thirds", 3},   {"quarter", 4},
     {"quarters", 4},   {"fourth", 4},      {"fourths", 4},     {"fifth", 5},    {"fifths", 5},
     {"sixth", 6},      {"sixths", 6},      {"seventh", 7},     {"sevenths", 7}, {"eighth", 8},
     {"eighths", 8},    {"ninth", 9},       {"ninths", 9},      {"tenth", 10},   {"tenths", 10},
     {"twentieth", 20}, {"hundredth", 100}, {"hundredths", 100}});
constexpr auto kSigns = std::to_array<Word>({{"½", 1.0 / 2},
                                             {"⅓", 1.0 / 3},
                                             {"⅔", 2.0 / 3},
                                             {"¼", 1.0 / 4},
                                             {"¾", 3.0 / 4},
                                             {"⅕", 1.0 / 5},
                                             {"⅖", 2.0 / 5},
                                             {"⅗", 3.0 / 5},
                                             {"⅘", 4.0 / 5},
                                             {"⅛", 1.0 / 8},
                                             {"⅜", 3.0 / 8},
                                             {"⅝", 5.0 / 8},
                                             {"⅞", 7.0 / 8}});

template <size_t N>
std::optional<double> find(const std::array<Word, N>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &Word::word);
  if (found == words.end()) return std::nullopt;
  return found->value;
}

// "hundred" after "hundred" goes on no further.
constexpr double kGroupMax = 1e6;

// A hyphen between words: "twenty-three".
size_t skip_hyphen(const ReadText& text, size_t token) {
  const bool hyphen = text.at(token).is("-") || text.at(token).is("‐") || text.at(token).is("‑");
  return hyphen && text.glued(token) && text.glued(token + 1) ? token + 1 : token;
}

// "twenty-three", "twelve": below a hundred; with the last word an ordinal, that.
bool read_tens(const ReadText& text, size_t token, Numeral& out) {
  const std::string_view word = text.at(token).lower;
  if (const auto small = find(kSmall, word)) {
    out.value = *small;
    out.next = token + 1;
    return true;
  }
  if (const auto tens = find(kTens, word)) {
    out.value = *tens;
    out.next = token + 1;
    const size_t next = skip_hyphen(text, token + 1);
    const std::string_view ones = text.at(next).lower;
    if (const auto small = find(kSmall, ones); small && *small >= 1 && *small <= 9) {
      out.value += *small;
      out.next = next + 1;
    } else if (const auto last = find(kOrdinals, ones); last && *last <= 9 && next > token + 1) {
      out.value += *last;
      out.next = next + 1;
      out.ordinal = true;
    }
    return true;
  }
  return false;
}

// "a hundred" before more of the number.
bool read_article(const ReadText& text, size_t token, Numeral& out) {
  const std::string_view scale = text.at(token + 1).lower;
  if (!text.at(token).is("a") || !is_one_of(scale, {"hundred", "thousand", "million"}))
    return false;
  Numeral more;
  size_t next = token + 2;
  if (text.at(next).is("and")) ++next;
  if (!read_tens(text, next, more)) return false;
  out.value = 1;
  out.next = token + 1;
  return true;
}

// "one hundred and five thousand two hundred".
bool read_cardinal(const ReadText& text, size_t token, Numeral& out) {
  Numeral part;
  double total = 0, group = 0, scale_before = 1e18;
  size_t at = token;
  bool any = false;
  while (read_tens(text, at, part) || (!any && read_article(text, at, part))) {
    group = part.value;
    any = true;
    at = part.next;
    out.ordinal = part.ordinal;
    if (out.ordinal) break;
    for (;;) {  // "two hundred thousand"
      const auto scale = find(kScales, text.at(at).lower);
      if (!scale || group > kGroupMax) break;
      if (*scale == 100) {
        group *= 100;
        ++at;
        size_t rest = at;
        if (text.at(rest).is("and")) ++rest;
        Numeral tens;
        if (group < 10000 && read_tens(text, rest, tens)) {
          group += tens.value;
          at = tens.next;
          out.ordinal = tens.ordinal;
        }
        continue;
      }
      if (*scale >= scale_before) break;
      group *= *scale;
      scale_before = *scale;
      out.step = *scale;
      out.scaled = true;
      ++at;
      break;
    }
    total += group;
    group = 0;
    if (!out.scaled) break;
    size_t rest = at;
    if (text.at(rest).is("and")) ++rest;
    Numeral more;
    if (!read_tens(text, rest, more)) break;
    at = rest;
    out.step = 1;
  }
  if (!any) return false;
  if (!out.scaled && !out.ordinal && total >= 10 && total <= 20 && at == part.next) {
    Numeral years;  // "nineteen eighty-four"
    if (read_tens(text, at, years) && years.value >= 10 && !years.ordinal) {
      total = total * 100 + years.value;
      at = years.next;
    }
  }
  out.value = total;
  out.next = at;
  out.words = true;
  return true;
}

// Whether an ordinal before the token says which, and not what part.
bool counts_rank(const Token& next) {
  return next.kind == TokenKind::kWord && dimension_of(next.lower) == Dimension::kNone &&
         !is_one_of(next.lower, {"of", "as", "the", "more", "less", "and", "or", "in", "are", "is",
                                 "were", "was", "have", "had", "to"});
}

// "half-time", "half-life", "the second half": no half of anything that is told.
bool names_half(const ReadText& text, size_t token) {
  const std::string_view noun = text.at(skip_hyphen(text, token + 1)).lower;
  return is_one_of(noun, {"time", "life", "lives", "way", "hearted", "brother", "brothers",
                          "sister", "sisters", "moon", "term", "marathon", "timbered"}) ||
         (token > 0 && is_one_of(text.at(token - 1).lower, {"first", "second", "1st", "2nd"}));
}

// "third-party", "third parties".
bool is_outsider(const ReadText& text, size_t ordinal) {
  return text.at(ordinal).is("third") && is_one_of(text.at(skip_hyphen(text, ordinal + 1)).lower,
                                                   {"party", "parties", "person", "world"});
}

// "Third, bake it": the order of what is said.
bool orders_speech(const ReadText& text, size_t token) {
  return is_upper_start(text.at(token).text) && text.at(token + 1).is(",") &&
         (token == 0 || !text.at(token - 1).is("the"));
}

// "a hundred", "half a million", "two thirds", "a dozen", "three quarters", "½".
bool read_idiom(const ReadText& text, size_t token, Numeral& out) {
  const Token& first = text.at(token);
  const size_t second = token + 1;
  out.words = true;
  if (const auto sign = find(kSigns, first.text)) {
    out = {.value = *sign, .step = 0.01, .next = second, .fraction = true};
    return true;
  }
  if (first.is("half") && names_half(text, token)) return false;
  if (first.is("half")) {
    out.value = 0.5;
    out.step = 0.1;
    out.next = second;
    out.fraction = true;
    size_t next = skip_hyphen(text, second);
    if (is_one_of(text.at(next).lower, {"a", "an"})) ++next;
    if (text.at(next).is("dozen")) {
      out.value = 6;
      out.next = next + 1;
      out.fraction = false;
    } else if (const auto scale = find(kScales, text.at(next).lower)) {
      out.value *= *scale;
      out.step = *scale / 10;
      out.next = next + 1;
      out.scaled = true;
      out.fraction = false;
    }
    return true;
  }
  if (first.is("dozen")) {
    out.value = 12;
    out.next = second;
    return true;
  }
  if (!is_one_of(first.lower, {"a", "an"})) return false;
  const std::string_view noun = text.at(second).lower;
  if (noun == "dozen") {
    out.value = 12;
  } else if (noun == "couple") {
    out.value = 2;
    out.vague = true;
  } else if (const auto scale = find(kScales, noun); scale && noun.size() > 2) {
    out.value = *scale;
    out.step = *scale;
    out.scaled = true;
  } else if (is_one_of(noun, {"third", "fifth", "tenth"}) &&
             counts_rank(text.at(skip_hyphen(text, second + 1)))) {
    out.value = *find(kOrdinals, noun);  // "a fifth season"
    out.ordinal = true;
    out.vague = is_outsider(text, second);
  } else if (is_one_of(noun, {"half", "third", "quarter", "fifth", "tenth"})) {
    out.value = 1 / *find(kParts, noun);
    out.step = 0.01;
    out.fraction = true;
  } else if (noun.size() > 2 && dimension_of(noun) != Dimension::kNone) {  // "an hour"
    out.value = 1;
    out.vague = true;
    out.next = second;
    return true;
  } else {
    return false;
  }
  out.next = second + 1;
  return true;
}

// "and a half", "-and-a-half million".
void extend_half(const ReadText& text, Numeral& out) {
  const size_t at = skip_hyphen(text, out.next), article = skip_hyphen(text, at + 1);
  const size_t tail = skip_hyphen(text, article + 1);
  if (text.at(at).is("and") && text.at(article).is("three") &&
      is_one_of(text.at(tail).lower, {"quarter", "quarters"}) &&
      dimension_of(text.at(tail + 1).lower) != Dimension::kNone) {
    out.value += 0.75;
    out.step = 0.01;
    out.next = tail + 1;
    return;
  }
  if (!text.at(at).is("and") || !text.at(article).is("a")) return;
  const bool third = text.at(tail).is("third") && out.words;  // not "items 1, 2 and a third"
  if (!third && !is_one_of(text.at(tail).lower, {"half", "quarter"})) return;
  out.value += 1 / *find(kParts, text.at(tail).lower);
  out.step = 0.1;
  out.next = tail + 1;
  if (const auto scale = find(kScales, text.at(out.next).lower)) {
    out.value *= *scale;
    out.step = *scale / 10;
    out.scaled = true;
    ++out.next;
  }
}

// "a quarter of a million".
void extend_part(const ReadText& text, Numeral& out) {
  if (!out.fraction || !text.at(out.next).is("of") || !text.at(out.next + 1).is("a")) return;
  const auto scale = find(kScales, text.at(out.next + 2).lower);
  if (!scale || *scale < 1e3) return;
  out.value *= *scale;
  out.step *= *scale;
  out.scaled = true;
  out.fraction = false;
  out.next += 3;
}

// What may follow a cardinal: "two thirds", "two and a half", "two dozen".
void extend_words(const ReadText& text, Numeral& out) {
  const size_t next = skip_hyphen(text, out.next);
  const std::string_view word = text.at(next).lower;
  if (word == "dozen") {
    out.value *= 12;
    out.next = next + 1;
    return;
  }
  const auto part = find(kParts, word);
  const bool plural = word.ends_with('s') && word != "halves";
  if (part && out.value >= 1 && out.value < *part &&
      (plural || out.value == 1 || word == "halves") && !(out.value == 1 && word == "second")) {
    out.value /= *part;
    out.step = 0.01;
    out.next = next + 1;
    out.fraction = true;
    return;
  }
  extend_half(text, out);
}

// "1½", "3/4", "1 1/2".
void extend_fraction(const ReadText& text, size_t token, Numeral& out) {
  if (const auto sign = find(kSigns, text.at(out.next).text); sign && text.glued(out.next)) {
    out.value += *sign;
    out.step = 0.01;
    ++out.next;
    return;
  }
  const auto small = [&](size_t at) {
    const Token& digits = text.at(at);
    int value = 0;
    if (digits.kind != TokenKind::kNumber || digits.text.size() > 2) return 0;
    std::from_chars(digits.text.data(), digits.text.data() + digits.text.size(), value);
    return value;
  };
  const auto fraction_at = [&](size_t at) {
    const int above = small(at), below = small(at + 2);
    const bool is = above > 0 && above < below && text.at(at + 1).is("/") && text.glued(at + 1) &&
                    text.glued(at + 2) && !(text.at(at + 3).is("/") && text.glued(at + 3));
    return is ? static_cast<double>(above) / below : 0.0;
  };
  if (const double value = fraction_at(token); value > 0) {
    if (text.offers()) {
      out.parts = {out.value, static_cast<double>(small(token + 2))};
      out.part_count = 2;
    }
    out.value = value;
    out.step = 0.005;
    out.next = token + 3;
    out.fraction = true;
  } else if (const double tail = fraction_at(out.next);
             tail > 0 && text.at(out.next).begin == text.at(token).end + 1) {
    out.value += tail;
    out.step = 0.01;
    out.next += 3;
  }
}

// "1.496 × 10^8", "3.2e5".
void extend_power(const ReadText& text, Numeral& out) {
  const Token& mark = text.at(out.next);
  size_t exponent = 0;
  if (is_one_of(mark.lower, {"×", "x", "*", "·"}) && text.at(out.next + 1).text == "10" &&
      text.at(out.next + 2).is("^")) {
    exponent = out.next + 3;
  } else if (mark.kind != TokenKind::kIdentifier || !text.glued(out.next) || mark.lower[0] != 'e') {
    return;
  }
  const std::string_view digits = exponent > 0 ? text.at(exponent).text : mark.text.substr(1);
  int power = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), power);
  if (error != std::errc() || end != digits.data() + digits.size() || power < 1 || power > 99)
    return;
  out.scale = std::pow(10, power);
  out.value *= out.scale;
  out.step *= out.scale;
  out.other.reset();
  out.scaled = true;
  out.next = exponent > 0 ? exponent + 1 : out.next + 1;
}

void offer_cells(std::string_view written, Numeral& out) {
  const std::vector<double> cells = cells_of(written);
  if (cells.size() > out.parts.size()) return;
  std::ranges::copy(cells, out.parts.begin());
  out.part_count = static_cast<uint8_t>(cells.size());
}

bool read_digit_number(const ReadText& text, size_t token, Numeral& out) {
  const auto digits = read_digits(text.at(token).text);
  if (!digits) return false;
  out.value = digits->value;
  out.step = digits->step;
  out.other = digits->other;
  out.next = token + 1;
  if (text.offers()) offer_cells(text.at(token).text, out);
  extend_fraction(text, token, out);
  // "£64 and a half plot £36"
  if (out.step == 1 && !out.fraction && !read_currency_before(text, token)) extend_half(text, out);
  extend_power(text, out);
  if (out.scaled) return true;
  const Token& after = text.at(out.next);
  if (text.glued(out.next) && is_one_of(after.lower, {"st", "nd", "rd", "th"})) {
    out.ordinal = true;
    ++out.next;
    return true;
  }
  double scale = 1;
  size_t next = skip_hyphen(text, out.next);
  if (text.opens_sentence(next)) return true;
  if (text.at(next).is("±") && text.at(next + 1).kind == TokenKind::kNumber) {
    scale = find(kScales, text.at(next + 2).lower).value_or(1);  // "1,265 ± 4 million"
    next = out.next;
  } else if (const auto found = find(kScales, text.at(next).lower)) {
    scale = *found;
    ++next;
    if (const auto more = find(kScales, text.at(next).lower); more && *more > scale) {
      scale *= *more;
      ++next;
    }
  } else if (text.glued(out.next) && (after.text == "k" || after.text == "K")) {
    scale = 1e3;
    next = out.next + 1;
  } else if (text.glued(out.next) && (after.text == "M" || after.text == "B")) {
    scale = after.text == "M" ? 1e6 : 1e9;
    next = out.next + 1;
  } else if (text.at(next).is("dozen")) {
    out.value *= 12;
    out.next = next + 1;
    return true;
  }
  if (scale != 1) {
    out.value *= scale;
    out.step *= scale;
    out.scale = scale;
    out.other.reset();
    out.scaled = true;
    out.next = next;
  }
  return true;
}

// "one in four", "3 out of 5", "two of every ten": a part of one.
bool read_ratio(const ReadText& text, const Numeral& first, Numeral& out) {
  size_t at = first.next;
  const bool in = text.at(at).is("in");
  if (in) {
    ++at;
  } else if (text.at(at).is("out") && text.at(at + 1).is("of")) {
    at += 2;
  } else if (!text.at(at).is("of") || !is_one_of(text.at(at + 1).lower, {"every", "each"})) {
    return false;
  } else {
    ++at;
  }
  if (is_one_of(text.at(at).lower, {"every", "each"})) ++at;
  const auto digits = read_digits(text.at(at).text);
  Numeral all;
  if (text.at(at).kind == TokenKind::kNumber && digits) {
    all.value = digits->value;
    all.next = at + 1;
  } else if (!read_cardinal(text, at, all)) {
    return false;
  }
  // "5 in 2019" is none; "1 in 2,000" is.
  const bool year = in && text.at(at).text.size() == 4 && all.value >= 1e3 && all.value < 2200;
  if (first.value < 1 || first.value > all.value || year) return false;
  if (dimension_of(text.at(all.next).lower) != Dimension::kNone) return false;  // "one in 5 days"
  out = first;
  out.value = first.value / all.value;
  out.step = 0.01 * out.value;
  out.next = all.next;
  out.fraction = true;
  out.vague = false;
  out.part_count = 0;
  if (text.offers()) {
    out.parts = {first.value, all.value};
    out.part_count = 2;
  }
  return true;
}

// "twice a day" of a context are two times.
bool read_times(const ReadText& text, size_t token, Numeral& out) {
  const Token& word = text.at(token);
  if (!text.offers() || !is_one_of(word.lower, {"once", "twice", "thrice"})) return false;
  const bool often =
      is_one_of(text.at(token + 1).lower, {"a", "an", "per", "every", "each", "daily", "weekly",
                                           "monthly", "yearly", "annually", "hourly", "nightly"});
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
  } else if (const auto ordinal = find(kOrdinals, first.lower)) {
    out = {.value = *ordinal, .next = token + 1, .ordinal = true, .words = true};
    out.vague = *ordinal <= 2 || is_outsider(text, token) || orders_speech(text, token);
  } else if (read_times(text, token, out)) {
    return out;
  } else {
    out = {};
    if (!read_idiom(text, token, out)) return std::nullopt;
  }
  Numeral ratio;
  extend_part(text, out);
  if (!out.ordinal && !out.scaled && read_ratio(text, out, ratio)) return ratio;
  return out;
}

}  // namespace signalbox::grounding
