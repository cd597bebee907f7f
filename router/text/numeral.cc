// Reads a number in digits or in words, then what may extend it: a fraction, a power of ten, a
// scale such as "million", or the other number of a ratio.

#include "router/text/numeral.h"

#include <cmath>

#include "router/text/digits.h"
#include "router/text/number_words.h"
#include "router/text/units.h"

namespace signalbox::text {
namespace {

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
  } else if (const auto scale = scale_of(text.at(next).lower)) {
    apply_scale(*scale, next + 1, out);
  }
  return true;
}

// True if an ordinal before the token is a rank ("a fifth season") rather than a part.
bool is_rank_before(const Token& next) {
  return next.kind == TokenKind::kWord && dimension_of(next.lower) == Dimension::kNone &&
         !is_one_of(next.lower, {"of", "as", "the", "more", "less", "and", "or", "in", "are", "is",
                                 "were", "was", "have", "had", "to"});
}

// Reads "a hundred", "a dozen", "a third", "an hour", "½".
bool read_idiom(const ReadText& text, size_t token, Numeral& out) {
  const Token& first = text.at(token);
  if (const auto sign = fraction_sign(first.text)) {
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
  const auto scale = scale_of(noun), part = denominator_of(noun);
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
  out.value += 1 / *denominator_of(part);
  out.step = 0.1;
  out.next = tail + 1;
  if (const auto scale = scale_of(text.at(out.next).lower)) apply_scale(*scale, out.next + 1, out);
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
  const auto sign = fraction_sign(text.at(out.next).text);
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
  if (const auto found = scale_of(text.at(next).lower)) {
    scale = *found;
    const auto more = scale_of(text.at(next + 1).lower);  // "5 hundred thousand"
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
