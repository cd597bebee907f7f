// A numeral, the unit or currency beside it, and what the words around it say of its precision.

#include "router/guard/grounding_number.h"

#include <algorithm>

#include "router/guard/grounding_numeral.h"

namespace signalbox::router::grounding {
namespace {

// What stands before the number, its currency left out.
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
  if (is_one_of(one, {"over", "above", "exceeding", ">", "exceeds", "exceeded", "least"}))
    return Hedge::kOver;
  if (one == "than" && is_one_of(two, {"more", "greater", "higher", "longer", "larger", "older"}))
    return Hedge::kOver;
  if (is_one_of(one, {"under", "below", "<", "most"})) return Hedge::kUnder;
  if (one == "than" && is_one_of(two, {"less", "fewer", "lower", "smaller", "shorter", "younger"}))
    return Hedge::kUnder;
  if (one == "to" && two == "up") return Hedge::kUnder;
  return Hedge::kNone;
}

Hedge hedge_after(const ReadText& text, size_t token) {
  const Token& next = text.at(token);
  if (next.is("or") && is_one_of(text.at(token + 1).lower, {"so", "thereabouts"}))
    return Hedge::kAbout;
  if (next.is("or") && is_one_of(text.at(token + 1).lower, {"more", "above", "higher"}))
    return Hedge::kOver;
  if (next.is("or") && is_one_of(text.at(token + 1).lower, {"less", "fewer", "below"}))
    return Hedge::kUnder;
  if (next.is("+") && text.glued(token)) return Hedge::kOver;
  if (is_one_of(next.lower, {"approximately", "roughly"})) return Hedge::kAbout;
  return Hedge::kNone;
}

// A minus before the number that is no hyphen and no dash of a range.
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

void add_units(const ReadText& text, size_t token, const Numeral& part, Quantity& out) {
  const auto add = [&](double value, double step, const Unit& unit) {
    if (out.count < out.readings.size()) out.readings[out.count++] = {value, step, unit};
  };
  out.last_token = static_cast<uint32_t>(part.next);
  if (const auto currency = read_currency_before(text, token)) {
    double scale = 1;
    if (text.glued(part.next) && text.at(part.next).is("m")) {  // "£5m"
      scale = 1e6;
      out.scaled = true;
      ++out.last_token;
    }
    out.first_token = static_cast<uint32_t>(token - 1);
    add(part.value * scale, part.step * scale, *currency);
    // "$5 billion dollars".
    if (const auto unit = read_unit(text, out.last_token);
        unit && unit->unit.dimension == Dimension::kMoney)
      out.last_token = static_cast<uint32_t>(unit->last_token);
    return;
  }
  size_t next = part.next;
  if (part.fraction) {  // "half an hour", "a quarter of a mile"
    if (text.at(next).is("of")) ++next;
    if (is_one_of(text.at(next).lower, {"a", "an"})) ++next;
  }
  const bool counted = next == part.next || dimension_of(text.at(next).lower) != Dimension::kNone;
  const auto unit = part.ordinal || !counted ? std::nullopt : read_unit(text, next);
  if (!unit) {
    add(part.value, part.step, {});
    if (part.other) add(*part.other, 1, {});
    return;
  }
  const std::string_view name = text.at(unit->last_token - 1).lower;
  out.last_token = static_cast<uint32_t>(unit->last_token);
  double value = part.value;
  if (text.at(out.last_token).is("and") && text.at(out.last_token + 1).is("a")) {
    const std::string_view more = text.at(out.last_token + 2).lower;  // "an hour and a half"
    if (more == "half" || more == "quarter") {
      value += more == "half" ? 0.5 : 0.25;
      out.last_token += 3;
    }
  }
  add(value, part.step, unit->unit);
  if (name == "m") add(part.value * 1e6, part.step * 1e6, {});
  if (name == "pound" || name == "pounds") add(part.value, part.step, {Dimension::kMoney, 1, 0, 3});
  if (part.other) add(*part.other, 1, unit->unit);
}

}  // namespace

std::optional<Quantity> read_quantity(const ReadText& text, size_t token) {
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

}  // namespace signalbox::router::grounding
