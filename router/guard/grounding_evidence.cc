// Sums and differences are made of quantities that stand in one sentence or in two neighbours, a
// few dozen at most each: made of all, they would soon support any number.

#include "router/guard/grounding_evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_set>

namespace signalbox::router::grounding {
namespace {

constexpr size_t kTogetherMax = 12;     // quantities of two sentences that are combined
constexpr size_t kNearby = 3;           // sentences whose years are held against each other
constexpr size_t kDatesMax = 1u << 14;  // different ones that are kept
constexpr double kCountsMax = 64;       // up to which enumerations are counted
constexpr size_t kNamedMax = 16;        // units of headings that plain numbers are converted from,
constexpr size_t kConvertedMax = 1u << 15;  // and those numbers

// What is counted: the first words after the quantity that say something.
std::array<std::string_view, 2> nouns(const ReadText& text, const Quantity& quantity) {
  std::array<std::string_view, 2> out = {};
  size_t found = 0;
  for (size_t at = quantity.last_token; at < quantity.last_token + 4 && found < out.size(); ++at) {
    const Token& token = text.at(at);
    if (token.kind != TokenKind::kWord || text.opens_line(at)) break;
    if (!is_common_word(token.lower)) out[found++] = stem_of(token.lower);
  }
  return out;
}

bool share_noun(const ReadText& text, const Quantity& a, const Quantity& b) {
  const auto mine = nouns(text, a), theirs = nouns(text, b);
  return std::ranges::any_of(mine, [&](std::string_view noun) {
    return !noun.empty() && std::ranges::find(theirs, noun) != theirs.end();
  });
}

// Whether things are counted: the next word is no unit and no small word.
bool counts_things(const ReadText& text, const Quantity& quantity) {
  size_t next = quantity.last_token;
  if (text.at(next).is("-")) ++next;
  const Token& thing = text.at(next);
  return thing.kind == TokenKind::kWord && !text.opens_line(next) && !is_common_word(thing.lower) &&
         dimension_of(thing.lower) == Dimension::kNone &&
         dimension_of(text.at(next + 1).lower) == Dimension::kNone;  // "5 additional minutes"
}

// A thousand, million or billion of a heading: "in millions", "($ million)"; otherwise 1.
double heading_scale(const ReadText& text, size_t token) {
  const std::string_view word = text.at(token).lower;
  const double scale = is_one_of(word, {"thousand", "thousands"})              ? 1e3
                       : is_one_of(word, {"million", "millions", "mn", "mio"}) ? 1e6
                       : is_one_of(word, {"billion", "billions", "bn"})        ? 1e9
                                                                               : 1;
  const bool heading =
      (token > 0 && is_one_of(text.at(token - 1).lower, {"in", "("})) || text.at(token + 1).is(")");
  return heading ? scale : 1;
}

// "distance (km)", "wind_kmh", "temperature_c".
std::optional<Unit> heading_unit(const ReadText& text, size_t token) {
  const Token& at = text.at(token);
  const bool suffix = token > 0 && text.at(token - 1).is("_") && text.glued(token);
  if (suffix && at.is("c")) return Unit{Dimension::kTemperature, 1, 273.15};
  if (suffix && at.is("f")) return unit_named("fahrenheit");
  if (at.text.size() == 1 && at.kind != TokenKind::kSymbol && !suffix) return std::nullopt;
  return unit_named(at.lower);
}

// "aged 60 to 75 years (mean 66.8)": has the unit of what stands before it.
bool is_statistic(const ReadText& text, const Quantity& quantity) {
  return quantity.first_token > 0 &&
         is_one_of(text.at(quantity.first_token - 1).lower,
                   {"mean", "median", "average", "avg", "minimum", "maximum", "min", "max"});
}

const Unit& unit_of(const Quantity& quantity) {
  return quantity.readings[0].unit;
}

bool is_plain(const Quantity& quantity) {
  return unit_of(quantity).dimension == Dimension::kNone;
}

// Words of sentences that reckon.
const std::unordered_set<std::string_view>& reckoning() {
  static const std::unordered_set<std::string_view> kWords = {
      "total",   "totals",    "totaling",   "totalling", "altogether", "combined",  "together",
      "sum",     "summing",   "difference", "differ",    "more",       "fewer",     "less",
      "higher",  "lower",     "increase",   "increased", "decrease",   "decreased", "rise",
      "rose",    "gain",      "gained",     "drop",      "dropped",    "fell",      "grew",
      "growth",  "remaining", "remain",     "remained",  "remainder",  "rest",      "left",
      "overall", "deficit",   "lead",       "advantage", "apart",      "gap",       "margin",
      "net",     "others",    "other",      "both",      "exceeds",    "exceeded",  "outnumbered",
      "ahead",   "older",     "younger",    "longer",    "shorter",    "taller",    "cheaper",
      "not",     "later",     "earlier",    "saved",     "saving",     "savings",   "adding",
      "plus",    "minus",     "=",          "change",    "reduced",    "reduction", "amount"};
  return kWords;
}

// Days since an epoch, of a date with all its parts; the years before 1 are none of them.
int64_t day_number(const Date& date, int32_t year) {
  const int64_t y = date.month <= 2 ? year - 1 : year;
  const int64_t m = (date.month + 9) % 12;
  return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + date.day - 1;
}

}  // namespace

Asked::Asked(const ReadText& answer, const Sentence& of)
    : text(answer),
      sentence(of),
      reckons(std::any_of(answer.tokens().begin() + of.first_token,
                          answer.tokens().begin() + of.last_token,
                          [](const Token& token) { return reckoning().contains(token.lower); })) {}

void Evidence::add(const ReadText& text) {
  Facts last;
  std::deque<std::vector<int32_t>> years_near;    // of the last sentences
  std::vector<bool> taken(text.tokens().size());  // as part of a quantity
  for (const Sentence& sentence : text.sentences()) {
    Facts facts;
    read_facts(text, sentence, true, facts);
    add_sentence(text, facts);
    derive_times(facts);
    derive_years(facts, years_near);
    for (const Quantity& quantity : facts.quantities) {
      qualifiers_.add(text, sentence, quantity);
      std::fill(taken.begin() + quantity.first_token, taken.begin() + quantity.last_token, true);
    }
    // Together with the sentence before it.
    Facts together = last;
    together.quantities.insert(together.quantities.end(), facts.quantities.begin(),
                               facts.quantities.end());
    together.dates.insert(together.dates.end(), facts.dates.begin(), facts.dates.end());
    derive(text, sentence, together);
    last = std::move(facts);
  }
  add_words(text, taken);
  items_.add(text);
  words_.add(text);
  addresses_.add(text);
}

// `taken`: of each token, whether it is part of a quantity.
void Evidence::add_words(const ReadText& text, const std::vector<bool>& taken) {
  const auto note = [](auto& list, const auto& each) {
    if (list.size() < kNamedMax && std::ranges::find(list, each) == list.end())
      list.push_back(each);
  };
  for (size_t i = 0; i < text.tokens().size(); ++i) {
    const Token& token = text.at(i);
    if (!taken[i]) {
      if (const auto unit = heading_unit(text, i)) note(named_, *unit);
      if (const double scale = heading_scale(text, i); scale > 1) note(scales_, scale);
    }
    if (token.kind == TokenKind::kSymbol) continue;
    denies_ = denies_ || is_one_of(token.lower, {"no", "none", "without", "never", "zero", "nobody",
                                                 "nothing", "neither"});
  }
}

void Evidence::add_bare(const Quantity& quantity) {
  for (const Reading& reading : quantity.read()) {
    if (reading.unit.dimension != Dimension::kNone) continue;
    bare_.add(reading.value, {});
    if (bare_values_.size() < kConvertedMax) bare_values_.push_back(reading.value);
  }
}

void Evidence::add_measured() {
  for (const double value : bare_values_) {
    for (const Unit& unit : named_) {
      measured_.add(value, unit);
      if (unit.dimension != Dimension::kMoney) continue;
      for (const double scale : scales_) measured_.add(value * scale, unit);
    }
    for (const double scale : scales_) measured_.add(value * scale, {});
  }
}

void Evidence::add_sentence(const ReadText& text, const Facts& facts) {
  const auto take = [&](const Quantity& quantity) {
    Values& into = quantity.ordinal ? ordinals_ : values_;
    for (const Reading& reading : quantity.read()) into.add(reading.value, reading.unit);
    if (!quantity.ordinal && !counts_things(text, quantity)) add_bare(quantity);
    if (quantity.year) {
      years_.push_back(static_cast<int32_t>(quantity.readings[0].value));
    }
  };
  std::ranges::for_each(facts.quantities, take);
  for (size_t i = 1; i < facts.quantities.size(); ++i) {
    const Quantity &before = facts.quantities[i - 1], &quantity = facts.quantities[i];
    if (is_plain(quantity) && !is_plain(before) && is_statistic(text, quantity))
      measured_.add(quantity.readings[0].value, unit_of(before));
  }
  std::ranges::for_each(facts.compounds, take);
  for (const Date& date : facts.dates) {
    // "1:17 h" is a span of time.
    if (date.minute > 0 && is_one_of(text.at(date.last_token).lower, {"h", "hr", "hrs", "hours"}))
      values_.add(date.minute, {Dimension::kTime, 60});
    if (dates_.size() < kDatesMax) dates_.push_back(date);
    if (date.has_year()) years_.push_back(date.year);
    if (date.day > 0) ordinals_.add(date.day, {});
  }
  for (const Name& name : facts.names) words_.add(text, name);
}

// Spans between the years of a sentence and those of the few before it; a year less where the
// months may be the other way round.
void Evidence::derive_years(const Facts& facts, std::deque<std::vector<int32_t>>& near) {
  constexpr double kYear = 365.25 * 86400;
  std::vector<int32_t> own;
  const auto take = [&](int32_t year) {
    if (own.size() < kTogetherMax) own.push_back(year);
  };
  for (const Date& date : facts.dates) {
    if (date.has_year() && date.years == 1) take(date.year);
  }
  for (const Quantity& quantity : facts.quantities) {
    if (quantity.year) take(static_cast<int32_t>(quantity.readings[0].value));
  }
  near.push_back(own);
  if (near.size() > kNearby) near.pop_front();
  for (const auto& others : near) {
    for (const int32_t a : others) {
      for (const int32_t b : own) {
        const double years = std::abs(a - b);
        if (a == b) continue;
        follows_.add(years, {Dimension::kTime, kYear});
        if (years > 1) follows_.add(years - 1, {Dimension::kTime, kYear});
      }
    }
  }
}

void Evidence::derive_pair(const ReadText& text, const Quantity& a, const Quantity& b) {
  const Unit& unit = unit_of(a);
  if (!(unit == unit_of(b)) || a.ordinal || b.ordinal || a.year || b.year) return;
  const double x = a.readings[0].value, y = b.readings[0].value;
  Values& into = share_noun(text, a, b) ? follows_ : may_follow_;
  if (!a.range || !b.range) into.add(x + y, unit);
  into.add(std::abs(x - y), unit);
  const std::string_view between = text.at(b.first_token - 1).lower;
  const bool close = b.first_token <= a.last_token + 6;
  // "30 of the 120", and "from 100 to 120".
  for (size_t i = a.last_token; close && i < b.first_token; ++i) {
    if (text.at(i).is("of") && x < y && y > 0) follows_.add(100 * x / y, {Dimension::kShare, 0.01});
  }
  if (close && between == "to" && x != 0)
    follows_.add(100 * std::abs(y - x) / std::abs(x), {Dimension::kShare, 0.01});
}

// "Revenue was $100 million in 2023 and $120 million in 2024": by how much it grew. Of the next
// alone: shares of all pairs would be nearly all there are.
void Evidence::derive_growth(std::span<const Quantity> from) {
  const Unit& unit = unit_of(from[0]);
  const double x = from[0].readings[0].value;
  if (is_plain(from[0]) || unit.dimension == Dimension::kShare || x == 0) return;
  const auto next = std::ranges::find_if(
      from.subspan(1), [&](const Quantity& other) { return unit_of(other) == unit; });
  if (next == from.end()) return;
  const double y = next->readings[0].value;
  if (y == 0) return;
  for (const double earlier : {x, y})  // "rose to 120 (2023: 100)"
    may_follow_.add(100 * std::abs((y - x) / earlier), {Dimension::kShare, 0.01});
}

// "15 years after 1990", "since 5 March 1932 ... 8 years earlier".
void Evidence::derive_year(const ReadText& text, const Quantity& span, const Facts& facts) {
  if (unit_of(span).dimension != Dimension::kTime) return;
  const double years = span.readings[0].value * unit_of(span).factor / (365.25 * 86400);
  if (years < 1 || years > 1000 || years != std::floor(years)) return;
  const bool back = is_one_of(text.at(span.last_token).lower,
                              {"before", "ago", "earlier", "prior", "previously"});
  const auto add = [&](int32_t year) {
    years_.push_back(year + static_cast<int32_t>(back ? -years : years));
  };
  for (const Quantity& other : facts.quantities) {
    if (other.year) add(static_cast<int32_t>(other.readings[0].value));
  }
  for (const Date& date : facts.dates) {
    if (date.has_year()) add(date.year);
  }
}

void Evidence::derive(const ReadText& text, const Sentence& sentence, const Facts& facts) {
  const size_t count = std::min(facts.quantities.size(), kTogetherMax);
  const auto last = std::span(facts.quantities).last(count);
  for (size_t i = 0; i < count; ++i) {
    const Quantity& a = last[i];
    if (unit_of(a).dimension == Dimension::kShare)
      may_follow_.add(1 / unit_of(a).factor - a.readings[0].value, unit_of(a));
    for (size_t j = i + 1; j < count; ++j) derive_pair(text, a, last[j]);
    derive_growth(last.subspan(i));
    derive_year(text, a, facts);
  }
  // The sum of all that one sentence has of a kind.
  for (size_t i = 0; i < count; ++i) {
    if (last[i].begin < sentence.begin) continue;
    double sum = 0;
    size_t of = 0;
    for (size_t j = i; j < count; ++j) {
      if (!(unit_of(last[j]) == unit_of(last[i])) || last[j].ordinal || last[j].year) continue;
      if (last[j].range) continue;
      sum += last[j].readings[0].value;
      if (++of >= 3) (is_plain(last[i]) ? may_follow_ : follows_).add(sum, unit_of(last[i]));
    }
  }
}

// Days between two dates, each read both ways round where it can be.
void Evidence::derive_days(const Date& a, const Date& b) {
  if (a.month < 0 || a.day < 0 || b.month < 0 || b.day < 0) return;
  const int32_t year = b.has_year() ? b.year : a.has_year() ? a.year : 2001;
  const auto turned = [](Date date) {
    if (date.other_month > 0) {
      date.month = date.other_month;
      date.day = date.other_day;
    }
    return date;
  };
  for (const Date& from : {a, turned(a)}) {
    for (const Date& to : {b, turned(b)}) {
      const int64_t days =
          std::abs(day_number(to, year) - day_number(from, a.has_year() ? a.year : year));
      follows_.add(static_cast<double>(days), {Dimension::kTime, 86400});
      follows_.add(static_cast<double>(days + 1), {Dimension::kTime, 86400});
    }
  }
}

// From nine to five, from June 3 to June 10.
void Evidence::derive_times(const Facts& facts) {
  const size_t count = std::min(facts.dates.size(), kTogetherMax);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      const Date &a = facts.dates[i], &b = facts.dates[j];
      if (a.minute >= 0 && b.minute >= 0) {
        const int32_t minutes = (b.minute - a.minute + 1440) % 1440;
        if (minutes == 0) continue;
        follows_.add(minutes, {Dimension::kTime, 60});
        if (a.half_day || b.half_day) follows_.add(minutes % 720, {Dimension::kTime, 60});
      }
      derive_days(a, b);
    }
  }
}

void Evidence::seal() {
  std::ranges::sort(years_);
  years_.erase(std::unique(years_.begin(), years_.end()), years_.end());
  words_.seal();
  qualifiers_.seal();
  add_measured();
  values_.seal();
  ordinals_.seal();
  bare_.seal();
  measured_.seal();
  follows_.seal();
  may_follow_.seal();
}

// "the 3rd" of one text may be "3 March" or "chapter 3" in the other; three things are not.
bool Evidence::ranks(const Asked& asked, const Quantity& quantity) const {
  const Reading& reading = quantity.readings[0];
  if (quantity.ordinal) return ordinals_.hold(reading, quantity, false);
  if (!is_plain(quantity) || quantity.words || quantity.first_token == 0) return false;
  const Token& before = asked.text.at(quantity.first_token - 1);
  const bool titled = is_upper_start(before.text) ||
                      is_one_of(before.lower, {"#", "no", "number", "minute", "day", "week",
                                               "month", "page", "chapter", "section", "round",
                                               "step", "place", "stage", "season", "lap", "level"});
  return titled && ordinals_.hold(reading, quantity, false);
}

bool Evidence::supports(const Asked& asked, const Quantity& quantity) const {
  const bool any_unit = !counts_things(asked.text, quantity);
  for (const Reading& reading : quantity.read()) {
    if (values_.hold(reading, quantity, any_unit)) return true;
    if (measured_.hold(reading, quantity, false) ||
        (std::ranges::find(named_, reading.unit) != named_.end() &&
         bare_.hold_plain(reading, quantity)))
      return true;
    if (reading.value == 0 && denies_) return true;
    if (quantity.year && std::ranges::binary_search(years_, static_cast<int32_t>(reading.value)))
      return true;
  }
  return ranks(asked, quantity) || derives(asked, quantity) || counts(asked, quantity) ||
         spans_years(asked, quantity) || ages(asked, quantity);
}

bool Evidence::has_value(const Quantity& quantity) const {
  Reading plain = quantity.readings[0];
  plain.unit = {};
  return values_.hold(plain, quantity, true);
}

bool Evidence::derives(const Asked& asked, const Quantity& quantity) const {
  if (quantity.ordinal) return false;
  return std::ranges::any_of(quantity.read(), [&](const Reading& reading) {
    // "More than half" reckons with nothing.
    const bool hedged = quantity.fraction && quantity.hedge != Hedge::kNone;
    return follows_.hold(reading, quantity, false) ||
           (asked.reckons && !hedged && may_follow_.hold(reading, quantity, false));
  });
}

// Small plain numbers of what the texts enumerate.
bool Evidence::counts(const Asked& asked, const Quantity& quantity) const {
  const double value = quantity.readings[0].value;
  const bool both_days = value == 2 && unit_of(quantity).dimension == Dimension::kTime;
  if (!(is_plain(quantity) || both_days) || quantity.ordinal || quantity.year || value < 2 ||
      value > kCountsMax || value != std::floor(value))
    return false;
  const std::string_view before =
      quantity.first_token > 0 ? asked.text.at(quantity.first_token - 1).lower : "";
  if (value == 2)
    return is_one_of(before, {"the", "these", "those", "both", "all", "other", "first"});
  return items_.hold(static_cast<size_t>(value), asked.text, asked.sentence);
}

// "25 years old" where the texts say "aged 25".
bool Evidence::ages(const Asked& asked, const Quantity& quantity) const {
  if (unit_of(quantity).dimension != Dimension::kTime) return false;
  size_t next = quantity.last_token;
  if (asked.text.at(next).is("-")) ++next;
  const bool old = is_one_of(asked.text.at(next).lower, {"old", "olds"});
  const bool aged = quantity.first_token > 0 && asked.text.at(quantity.first_token - 1).is("aged");
  return (old || aged) && bare_.hold_plain(quantity.readings[0], quantity);
}

// "aged 76": years without the word.
bool Evidence::spans_years(const Asked& asked, const Quantity& quantity) const {
  if (!is_plain(quantity) || quantity.year || quantity.ordinal || quantity.first_token == 0)
    return false;
  const std::string_view before = asked.text.at(quantity.first_token - 1).lower;
  const std::string_view before_that =
      quantity.first_token > 1 ? asked.text.at(quantity.first_token - 2).lower : "";
  if (!is_one_of(before, {"aged", "at"}) && !(before == "of" && before_that == "age")) return false;
  Reading years = quantity.readings[0];
  years.unit = {Dimension::kTime, 365.25 * 86400};
  return follows_.hold(years, quantity, false);
}

bool Evidence::supports(const Date& date) const {
  if (std::ranges::any_of(dates_, [&](const Date& by) { return follows_from(date, by); }))
    return true;
  const auto year_known = [&](const Date& part) {
    const auto from = std::ranges::lower_bound(years_, part.year);
    return from != years_.end() && *from < part.year + part.years;
  };
  if (!date.has_year()) {
    // Parts of one date that the context has in two ("Monday", "March 3").
    return false;
  }
  if (!year_known(date)) return false;
  if (date.month < 0 && date.weekday < 0 && date.quarter < 0 && date.minute < 0) return true;
  // "On March 3" in one place, "in 2021" in another.
  Date rest = date;
  rest.year = Date::kNoYear;
  return std::ranges::any_of(dates_, [&](const Date& by) {
    return follows_from(rest, by) && (!by.has_year() || agrees(date, by));
  });
}

}  // namespace signalbox::router::grounding
