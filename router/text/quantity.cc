// Reads a numeral with its unit or currency and the words that limit its precision.

#include "router/text/quantity.h"

#include "router/text/digits.h"
#include "router/text/numeral.h"

namespace signalbox::text {
namespace {

// `token` is the first of the quantity, its currency included.
Hedge hedge_before(const ReadText& text, size_t token) {
  const auto word = [&](size_t back) {
    return token >= back ? text.at(token - back).lower : std::string_view();
  };
  const std::string_view one = word(1), two = word(2);
  if (is_one_of(one, {"about", "around", "roughly", "approximately", "approx", "nearly", "almost",
                      "circa", "some", "~", "≈", "estimated", "ca"}))
    return Hedge::kAbout;
  if (one == "." && is_one_of(two, {"approx", "ca", "c"})) return Hedge::kAbout;
  if (one == "to" && two == "close") return Hedge::kAbout;
  if (is_one_of(one, {"over", "above", "exceeding", ">", "exceeds", "exceeded"}))
    return Hedge::kOver;
  if (one == "least") return Hedge::kAtLeast;
  if (one == "most" || (one == "to" && two == "up")) return Hedge::kAtMost;
  if (is_one_of(one, {"under", "below", "<"})) return Hedge::kUnder;
  if (one != "than") return Hedge::kNone;
  const bool more = is_one_of(two, {"more", "greater", "higher", "longer", "larger", "older"});
  const bool less = is_one_of(two, {"less", "fewer", "lower", "smaller", "shorter", "younger"});
  if (!more && !less) return Hedge::kNone;
  if (is_one_of(word(3), {"no", "not", "never"})) return more ? Hedge::kAtMost : Hedge::kAtLeast;
  return more ? Hedge::kOver : Hedge::kUnder;
}

Hedge hedge_after(const ReadText& text, size_t token) {
  const Token& next = text.at(token);
  if (next.is("or") && is_one_of(text.at(token + 1).lower, {"so", "thereabouts"}))
    return Hedge::kAbout;
  if (next.is("or") && is_one_of(text.at(token + 1).lower, {"more", "above", "higher"}))
    return Hedge::kAtLeast;
  if (next.is("or") && is_one_of(text.at(token + 1).lower, {"less", "fewer", "below"}))
    return Hedge::kAtMost;
  if (next.is("+") && text.glued(token)) return Hedge::kOver;
  if (is_one_of(next.lower, {"approximately", "roughly"})) return Hedge::kAbout;
  return Hedge::kNone;
}

// True if a minus stands before the number, rather than a hyphen or the dash of a range.
bool is_negative(const ReadText& text, size_t token) {
  if (token == 0) return false;
  const Token& before = text.at(token - 1);
  if (is_one_of(before.lower, {"minus", "negative"})) return true;
  if (!before.is("-") && !before.is("−") && !before.is("–")) return false;
  if (!text.glued(token) || text.glued(token - 1)) return false;
  return token < 2 || text.at(token - 2).kind != TokenKind::kNumber;
}

bool is_year(const ReadText& text, size_t token, const Numeral& part) {
  const Token& digits = text.at(token);
  return digits.kind == TokenKind::kNumber && digits.text.size() == 4 && part.next == token + 1 &&
         part.value >= 1000 && part.value < 2200 && part.step == 1 && !part.fraction;
}

constexpr Unit kInInches = {Dimension::kLength, 0.0254}, kInFeet = {Dimension::kLength, 0.3048};
constexpr Unit kInWeeks = {Dimension::kTime, 7 * 86400.0};

void add(Quantity& out, double value, double step, const Unit& unit) {
  if (out.count < out.readings.size()) out.readings[out.count++] = {value, step, unit};
}

bool is_inch_mark(const Token& token) {
  return is_one_of(token.lower, {"\"", "”", "″"});
}

// Reads "$5bn", "£5m", "$5 billion dollars".
void add_money(const ReadText& text, const Numeral& part, const Unit& currency, Quantity& out) {
  double scale = 1;
  // "$5m" and "NOK 5 m", but not "$5 m" before more words.
  const bool near = text.glued(part.next) || text.at(part.next + 1).kind == TokenKind::kSymbol;
  const std::string_view letter = near ? text.at(part.next).text : "";
  if (is_one_of(letter, {"m", "b", "t"})) {
    scale = letter == "m" ? 1e6 : letter == "b" ? 1e9 : 1e12;
    out.scaled = true;
    ++out.last_token;
  }
  add(out, part.value * scale, part.step * scale, currency);
  if (part.other && scale == 1) add(out, *part.other, 1, currency);
  if (const auto unit = read_unit(text, out.last_token);
      unit && unit->unit.dimension == Dimension::kMoney)
    out.last_token = static_cast<uint32_t>(unit->last_token);
}

// Reads 5'10".
bool add_feet(const ReadText& text, const Numeral& part, Quantity& out) {
  const size_t mark = part.next;
  const int32_t inches = small_number(text.at(mark + 1).text);
  if (!is_one_of(text.at(mark).lower, {"'", "’", "′"}) || !text.glued(mark) ||
      !text.glued(mark + 1) || inches < 0 || inches > 11 || !is_inch_mark(text.at(mark + 2)))
    return false;
  add(out, part.value + inches / 12.0, 1 / 12.0, kInFeet);
  out.last_token = static_cast<uint32_t>(mark + 3);
  return true;
}

// Reads "7d", "2w".
bool add_days(const ReadText& text, const Numeral& part, Quantity& out) {
  const std::string_view letter = text.at(part.next).text;
  if (part.ordinal || !text.glued(part.next) || (letter != "d" && letter != "w")) return false;
  add(out, part.value, part.step, letter == "d" ? kInDays : kInWeeks);
  add(out, part.value, part.step, {});
  ++out.last_token;
  return true;
}

// A number without a unit. In a context, a ratio also offers its two numbers, and a double quote
// may mean inches.
void add_plain(const ReadText& text, const Numeral& part, Quantity& out) {
  add(out, part.value, part.step, {});
  if (part.other) add(out, *part.other, 1, {});
  for (size_t i = 0; i < part.part_count; ++i) add(out, part.parts[i], 1, {});
  if (text.is_context() && is_inch_mark(text.at(part.next)) && text.glued(part.next))
    add(out, part.value, part.step, kInInches);
  if (text.is_context() && text.at(part.next).is("in") &&  // "Display: 6.1 in"
      (text.opens_line(part.next + 1) || text.at(part.next + 1).kind == TokenKind::kSymbol))
    add(out, part.value, part.step, kInInches);
}

// True if the number follows hours, as in "2h 15m".
bool follows_hours(const ReadText& text, size_t token) {
  return token > 1 && is_one_of(text.at(token - 1).lower, {"h", "hr", "hrs"}) &&
         text.at(token - 2).kind == TokenKind::kNumber;
}

// Reads the rest of a quantity in a finer unit or without one: "1h45", "5 ft 10 in", "an hour and a
// half".
void take_rest(const ReadText& text, const Unit& unit, Reading& reading, Quantity& out) {
  const bool dot = unit == kInFeet && text.at(out.last_token).is(".");  // "5 ft. 10 in."
  const size_t next = out.last_token + (dot ? 1 : 0);
  if (text.at(next).is("and") && text.at(next + 1).is("a")) {
    const std::string_view more = text.at(next + 2).lower;
    if (more != "half" && more != "quarter") return;
    reading.value += more == "half" ? 0.5 : 0.25;
    out.last_token += 3;
    return;
  }
  const int32_t rest = small_number(text.at(next).text);
  if (rest < 0) return;
  if (text.at(next - 1).is("h") && text.glued(next) && rest < 60 &&
      text.at(next).text.size() == 2) {
    reading.value += rest / 60.0;
    reading.step = 1 / 60.0;
    ++out.last_token;
    if (text.glued(next + 1) && is_one_of(text.at(next + 1).lower, {"m", "min"})) ++out.last_token;
  } else if (unit == kInFeet && rest < 12 &&
             (text.at(next + 1).is("in") || is_inch_mark(text.at(next + 1))) &&
             text.at(next + 2).kind != TokenKind::kNumber) {
    reading.value += rest / 12.0;
    reading.step = 1 / 12.0;
    out.last_token = static_cast<uint32_t>(next + 2);
  }
}

void add_units(const ReadText& text, size_t token, const Numeral& part, Quantity& out) {
  out.last_token = static_cast<uint32_t>(part.next);
  if (const auto currency = read_currency_before(text, token)) {
    out.first_token = static_cast<uint32_t>(token - 1);
    add_money(text, part, *currency, out);
    return;
  }
  if (add_feet(text, part, out) || add_days(text, part, out)) return;
  size_t next = part.next;
  if (part.fraction) {  // "half an hour", "a quarter of a mile"
    if (text.at(next).is("of")) ++next;
    if (is_one_of(text.at(next).lower, {"a", "an"})) ++next;
  }
  const bool counted = next == part.next || dimension_of(text.at(next).lower) != Dimension::kNone;
  // "Rooms: 5" does not take a unit from the next line "Hours: 9-17".
  const bool none = part.ordinal || !counted || text.opens_sentence(next);
  const auto unit = none ? std::nullopt : read_unit(text, next);
  if (!unit) {
    add_plain(text, part, out);
    return;
  }
  const std::string_view name = text.at(unit->last_token - 1).lower;
  const bool glued_m = name == "m" && text.glued(part.next);
  out.last_token = static_cast<uint32_t>(unit->last_token);
  if (glued_m && follows_hours(text, token)) {
    add(out, part.value, part.step, kInMinutes);
    return;
  }
  add(out, part.value, part.step, unit->unit);
  take_rest(text, unit->unit, out.readings[0], out);
  if (name == "m") add(out, part.value * 1e6, part.step * 1e6, {});
  if (glued_m && text.is_context()) add(out, part.value, part.step, kInMinutes);
  if (name == "pound" || name == "pounds")
    add(out, part.value, part.step, {Dimension::kMoney, 1, 0, 3});
  if (name == "bar" && text.is_context()) add(out, part.value, part.step, {});  // "5 bar stools"
  if (part.other) add(out, *part.other, 1, unit->unit);
}

// True if the number is a version or a section: "3.10" is not "3.1" there.
bool is_version(const ReadText& text, size_t token) {
  const std::string_view digits = text.at(token).text;
  const size_t point = digits.find('.');
  return text.at(token).kind == TokenKind::kNumber && token > 0 && point != digits.npos &&
         digits.substr(point) != ".0" &&
         is_one_of(text.at(token - 1).lower,
                   {"version", "versions", "v", "release", "section", "§", "clause", "chapter",
                    "article", "appendix", "figure", "python", "java", "ubuntu", "firmware"}) &&
         !read_unit(text, token + 1);
}

}  // namespace

std::optional<Quantity> read_quantity(const ReadText& text, size_t token) {
  // An answer's version is compared by its letters, as codes are.
  if (!text.is_context() && is_version(text, token)) return std::nullopt;
  auto numeral = read_numeral(text, token);
  if (!numeral) return std::nullopt;
  Numeral& part = *numeral;
  if (is_negative(text, token)) part.value = -part.value;
  Quantity out;
  out.first_token = static_cast<uint32_t>(token);
  out.ordinal = part.ordinal;
  out.scaled = part.scaled;
  out.words = part.words;
  out.scale = part.scale;
  out.fraction = part.fraction;
  out.year = is_year(text, token, part);
  add_units(text, token, part, out);
  const bool article = is_one_of(text.at(token).lower, {"a", "an"});
  const bool bare = out.readings[0].unit.dimension == Dimension::kNone;
  out.vague = part.vague && (bare || (article && out.readings[0].value == 1));
  if (out.readings[0].unit.dimension != Dimension::kNone) out.year = false;
  out.begin = text.at(out.first_token).begin;
  out.end = text.at(out.last_token - 1).end;
  out.hedge = hedge_before(text, out.first_token);
  if (out.hedge == Hedge::kNone) out.hedge = hedge_after(text, out.last_token);
  return out;
}

}  // namespace signalbox::text
