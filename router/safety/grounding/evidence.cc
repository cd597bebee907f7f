// A number in a table often has its unit in a heading, so each plain cell is also stored in every
// unit that stands apart from a number.

#include "router/safety/grounding/evidence.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "router/text/digits.h"

namespace signalbox::grounding {
namespace {

using namespace text;

constexpr size_t kDatesMax = 1u << 14;  // dates that are kept
constexpr size_t kHeadingsMax = 16;     // heading units, and heading scales, that are kept
constexpr size_t kCellsMax = 1u << 15;  // cells that are converted

// True if the word after the number is what it counts: neither a unit nor a common word.
bool counts_things(const ReadText& text, const Quantity& quantity) {
  size_t next = quantity.last_token;
  if (text.at(next).is("-") && !text.opens_line(next)) ++next;
  const Token& thing = text.at(next);
  return thing.kind == TokenKind::kWord && !text.opens_line(next) && !is_common_word(thing.lower) &&
         dimension_of(thing.lower) == Dimension::kNone;
}

// The scale of a heading, such as "in millions" or "(€ million)"; 1 for any other token.
double heading_scale(const ReadText& text, size_t token) {
  const std::string_view word = text.at(token).lower;
  const Token& before = text.at(token - 1);
  const bool money =
      before.kind == TokenKind::kSymbol && is_money(unit_named(before.lower).value_or(Unit{}));
  if (money && word == "m") return 1e6;
  if (!money && !is_one_of(before.lower, {"in", "("}) && !text.at(token + 1).is(")")) return 1;
  if (is_one_of(word, {"thousand", "thousands"})) return 1e3;
  if (is_one_of(word, {"million", "millions", "mn"})) return 1e6;
  return is_one_of(word, {"billion", "billions", "bn"}) ? 1e9 : 1;
}

// The unit of a heading, such as "distance (km)" or "area (m3)".
std::optional<Unit> heading_unit(const ReadText& text, size_t token) {
  const Token& word = text.at(token);
  if (word.text.size() == 1 && word.kind != TokenKind::kSymbol) return std::nullopt;
  if (is_one_of(word.lower, {"std", "ans"})) return std::nullopt;  // often no hours and no years
  if (word.kind != TokenKind::kIdentifier && !is_one_of(word.lower, {"square", "cubic"}))
    return unit_named(word.lower);
  const auto power = read_unit(text, token);
  return power ? std::optional(power->unit) : std::nullopt;
}

void add_once(auto& list, const auto& value) {
  if (list.size() < kHeadingsMax && std::ranges::find(list, value) == list.end())
    list.push_back(value);
}

}  // namespace

FigureKind kind_of(const Quantity& quantity) {
  return quantity.year ? kDimensions : static_cast<size_t>(quantity.unit().dimension);
}

FigureKind kind_of(const Date& date) {
  return kDimensions + (date.minute >= 0 ? 1 : 0);
}

void Evidence::add(const ReadText& text) {
  std::vector<bool> in_quantity(text.tokens().size());
  for (const Sentence& sentence : text.sentences()) {
    Facts facts;
    read_facts(text, sentence, true, facts);
    FigureKinds& kinds = kinds_.emplace_back();
    for (const Quantity& quantity : facts.quantities) {
      add_quantity(text, quantity);
      kinds.set(kind_of(quantity));
      std::fill(in_quantity.begin() + quantity.first_token,
                in_quantity.begin() + quantity.last_token, true);
    }
    for (const Quantity& quantity : facts.compounds) add_quantity(text, quantity);
    for (const Date& date : facts.dates) {
      add_date(text, date);
      kinds.set(kind_of(date));
    }
    for (const Name& name : facts.names) words_.add(text, name);
  }
  add_headings(text, in_quantity);
  words_.add(text);
  addresses_.add(text);
}

void Evidence::add_quantity(const ReadText& text, const Quantity& quantity) {
  Values& into = quantity.ordinal ? ordinals_ : values_;
  if (quantity.ordinal && !quantity.words)
    days_.set(static_cast<size_t>(quantity.readings[0].value) % days_.size());
  const bool cell = !quantity.ordinal && !counts_things(text, quantity);
  for (const Reading& reading : quantity.read()) {
    into.add(reading.value, reading.unit);
    if (cell && is_plain(reading.unit)) cells_.add(reading.value, {});
  }
  if (quantity.year) years_.push_back(static_cast<int32_t>(quantity.readings[0].value));
}

void Evidence::add_date(const ReadText& text, const Date& date) {
  // "1:17 h" is a duration.
  if (date.minute > 0 && is_one_of(text.at(date.last_token).lower, {"h", "hr", "hrs", "hours"}))
    values_.add(date.minute, kInMinutes);
  if (dates_.size() < kDatesMax) dates_.push_back(date);
  if (date.has_year()) years_.push_back(date.year);
  if (date.quarter > 0) ordinals_.add(date.quarter, {});
  if (date.day > 0) ordinals_.add(date.day, {});
}

void Evidence::add_headings(const ReadText& text, const std::vector<bool>& in_quantity) {
  for (size_t i = 0; i < text.tokens().size(); ++i) {
    if (!in_quantity[i]) {
      if (const auto unit = heading_unit(text, i)) add_once(heading_units_, *unit);
      if (const double scale = heading_scale(text, i); scale > 1) add_once(heading_scales_, scale);
    }
    has_none_ = has_none_ || is_one_of(text.at(i).lower, {"no", "none", "without", "never", "zero",
                                                          "nobody", "nothing", "neither"});
  }
}

void Evidence::convert_cells() {
  const std::span<const double> cells = cells_.plain();
  for (const double value : cells.first(std::min(cells.size(), kCellsMax))) {
    for (const Unit& unit : heading_units_) {
      converted_.add(value, unit);
      for (const double scale : heading_scales_) {
        if (is_money(unit)) converted_.add(value * scale, unit);
      }
    }
    for (const double scale : heading_scales_) converted_.add(value * scale, {});
  }
}

void Evidence::seal() {
  std::ranges::sort(years_);
  convert_cells();
  values_.seal();
  ordinals_.seal();
  converted_.seal();
  words_.seal();
}

// "the 3rd" may be "3 March" or "chapter 3" in the other text, but not "3 chapters".
bool Evidence::has_rank(const ReadText& answer, const Quantity& quantity) const {
  const Reading& reading = quantity.readings[0];
  if (quantity.ordinal) return ordinals_.contain(reading, quantity, false);
  if (!quantity.is_plain() || quantity.first_token == 0) return false;
  const Token& before = answer.at(quantity.first_token - 1);
  const bool titled = (is_upper_start(before.text) && !quantity.words) ||
                      is_one_of(before.lower, {"#", "no", "number", "minute", "day", "week",
                                               "month", "page", "chapter", "section", "round",
                                               "step", "place", "stage", "season", "level"});
  return titled && ordinals_.contain(reading, quantity, false);
}

bool Evidence::has(const ReadText& answer, const Quantity& quantity) const {
  const bool any_unit = !counts_things(answer, quantity);
  for (const Reading& reading : quantity.read()) {
    if (values_.contain(reading, quantity, any_unit) ||
        converted_.contain(reading, quantity, false))
      return true;
    if (reading.value == 0 && has_none_) return true;
    if (quantity.year && std::ranges::binary_search(years_, static_cast<int32_t>(reading.value)))
      return true;
  }
  return has_rank(answer, quantity);
}

bool Evidence::has_number(const Quantity& quantity) const {
  Reading plain = quantity.readings[0];
  plain.unit = {};
  return values_.contain(plain, quantity, true);
}

bool Evidence::has(const Date& date) const {
  if (std::ranges::any_of(dates_, [&](const Date& by) { return follows_from(date, by); }))
    return true;
  if (!date.has_year()) {
    // The month and "the 12th" may stand apart.
    return date.month > 0 && date.day > 0 && date.minute < 0 && date.weekday < 0 &&
           days_.test(static_cast<size_t>(date.day) % days_.size()) &&
           std::ranges::any_of(dates_, [&](const Date& by) { return by.month == date.month; });
  }
  const auto from = std::ranges::lower_bound(years_, date.year);
  if (from == years_.end() || *from >= date.year + date.years) return false;
  if (date.month < 0 && date.weekday < 0 && date.quarter < 0 && date.minute < 0) return true;
  // The day and the year may stand apart.
  Date rest = date;
  rest.year = Date::kNoYear;
  return std::ranges::any_of(dates_, [&](const Date& by) {
    return follows_from(rest, by) && (!by.has_year() || agrees(date, by));
  });
}

}  // namespace signalbox::grounding
