// What is looked up as it stands, beside what derives from it.

#include "router/safety/grounding/evidence.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "router/safety/grounding/calendar.h"
#include "router/safety/grounding/digits.h"

namespace signalbox::grounding {
namespace {

constexpr size_t kDatesMax = 1u << 14;  // different ones that are kept
constexpr double kCountsMax = 64;       // up to which enumerations are counted
constexpr size_t kQuestionMax = 4;      // quantities of a question that are reckoned with
constexpr size_t kSpansMax = 64;        // of time, that dates of a question are moved by
constexpr double kTimesMax = 60;        // "12 months at 1,450"
constexpr size_t kNamedMax = 16;        // units of headings that plain numbers are converted from,
constexpr size_t kConvertedMax = 1u << 15;  // and those numbers

// Whether things are counted: the next word is no unit and no small word.
bool counts_things(const ReadText& text, const Quantity& quantity) {
  size_t next = quantity.last_token;
  if (text.at(next).is("-") && !text.opens_line(next)) ++next;
  const Token& thing = text.at(next);
  if (quantity.first_token > 0 && text.at(quantity.first_token - 1).is("at"))
    return false;  // a price
  return thing.kind == TokenKind::kWord && !text.opens_line(next) && !is_common_word(thing.lower) &&
         !is_one_of(thing.lower, {"plus", "minus", "times", "versus", "vs", "including"}) &&
         dimension_of(thing.lower) == Dimension::kNone &&
         dimension_of(text.at(next + 1).lower) == Dimension::kNone &&  // "5 additional minutes",
         dimension_of(text.at(next + 2).lower) == Dimension::kNone;    // "5 full working days"
}

// A thousand, million or billion of a heading: "in millions", "($ million)"; otherwise 1.
double heading_scale(const ReadText& text, size_t token) {
  const std::string_view word = text.at(token).lower;
  const double scale = is_one_of(word, {"thousand", "thousands"})              ? 1e3
                       : is_one_of(word, {"million", "millions", "mn", "mio"}) ? 1e6
                       : is_one_of(word, {"billion", "billions", "bn"})        ? 1e9
                                                                               : 1;
  const Token& before = text.at(token - 1);
  const bool money =
      before.kind == TokenKind::kSymbol && dimension_of(before.lower) == Dimension::kMoney;
  if (money && text.at(token).is("m")) return 1e6;  // "£m"
  const bool heading = money || is_one_of(before.lower, {"in", "("}) || text.at(token + 1).is(")");
  return heading ? scale : 1;
}

// "distance (km)", "wind_kmh", "temperature_c".
std::optional<Unit> heading_unit(const ReadText& text, size_t token) {
  const Token& at = text.at(token);
  const bool suffix = token > 0 && text.at(token - 1).is("_") && text.glued(token);
  if (suffix && at.is("c")) return Unit{Dimension::kTemperature, 1, 273.15};
  if (suffix && at.is("f")) return unit_named("fahrenheit");
  if (at.text.size() == 1 && at.kind != TokenKind::kSymbol && !suffix) return std::nullopt;
  if (is_one_of(at.lower, {"square", "cubic"})) {
    const auto power = read_unit(text, token);
    return power ? std::optional(power->unit) : std::nullopt;
  }
  if (is_one_of(at.lower, {"std", "ans"})) return std::nullopt;  // "Std" is short for standard, too
  if (at.kind != TokenKind::kIdentifier) return unit_named(at.lower);
  const auto power = read_unit(text, token);  // "m3"
  return power ? std::optional(power->unit) : std::nullopt;
}

// Of "2:29:20"; -1 of other dates.
int32_t seconds_of(const ReadText& text, const Date& date) {
  if (date.minute < 0 || date.last_token != date.first_token + 5 ||
      !text.at(date.first_token + 3).is(":"))
    return -1;
  return date.minute * 60 + small_number(text.at(date.first_token + 4).text);
}

// "aged 60 to 75 years (mean 66.8)", "640 sq ft (320 per floor)": has the unit of what stands
// before it.
bool is_statistic(const ReadText& text, const Quantity& quantity) {
  return quantity.first_token > 0 &&
         is_one_of(text.at(quantity.first_token - 1).lower,
                   {"mean", "median", "average", "avg", "minimum", "maximum", "min", "max", "("});
}

// "17 minutes to the town, to the city 48.": has the unit of the one before it, too.
bool lacks_unit(const ReadText& text, const Quantity& quantity) {
  return !quantity.year && text.at(quantity.first_token - 1).kind == TokenKind::kWord &&
         is_one_of(text.at(quantity.last_token).lower, {".", ",", ";", ""});
}

// "Schedule IV": what an answer may call its 4th, or 4.
double roman_number(const ReadText& text, size_t token) {
  constexpr std::string_view kRoman[] = {"I",   "II",   "III", "IV", "V",  "VI",
                                         "VII", "VIII", "IX",  "X",  "XI", "XII"};
  const auto found = std::ranges::find(kRoman, text.at(token).text);
  if (found == std::end(kRoman) || token == 0 || !is_upper_start(text.at(token - 1).text)) return 0;
  return static_cast<double>(found - std::begin(kRoman) + 1);
}

}  // namespace

void Evidence::add(const ReadText& text) {
  std::vector<bool> taken(text.tokens().size());  // as part of a quantity
  for (const Sentence& sentence : text.sentences()) {
    Facts facts;
    read_facts(text, sentence, true, facts);
    add_sentence(text, facts);
    qualifiers_.add(text, sentence, facts.quantities);
    for (const Quantity& quantity : facts.quantities)
      std::fill(taken.begin() + quantity.first_token, taken.begin() + quantity.last_token, true);
    derived_.add(text, sentence, std::move(facts));
  }
  derived_.end_text();
  add_words(text, taken);
  items_.add(text);
  words_.add(text);
  addresses_.add(text);
}

void Evidence::add_question(const ReadText& text) {
  add(text);
  for (const Sentence& sentence : text.sentences()) {
    Facts facts;
    read_facts(text, sentence, true, facts);
    for (const Quantity& quantity : facts.quantities) {
      if (asked_.size() < kQuestionMax && !quantity.vague) asked_.push_back(quantity);
    }
    for (const Date& date : facts.dates) {
      if (asked_dates_.size() < kQuestionMax) asked_dates_.push_back(date);
    }
  }
  for (size_t i = 2; i < text.tokens().size(); ++i) {
    if (text.at(i - 1).is("many") && text.at(i - 2).is("how"))
      asked_unit_ = unit_named(text.at(i).lower).value_or(Unit{});
  }
  for (const Token& token : text.tokens()) {
    if (asked_scale(token) != 1) scale_ = asked_scale(token);
    asks_to_reckon_ = asks_to_reckon_ || says_to_reckon(token);
  }
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
    if (const double number = roman_number(text, i); number > 0) ordinals_.add(number, {});
    denies_ = denies_ || is_one_of(token.lower, {"no", "none", "without", "never", "zero", "nobody",
                                                 "nothing", "neither"});
  }
}

void Evidence::add_bare(const Quantity& quantity) {
  for (const Reading& reading : quantity.read()) {
    if (reading.unit.dimension == Dimension::kNone) bare_.add(reading.value, {});
  }
}

void Evidence::add_measured() {
  const std::span<const double> bare = bare_.plain();
  for (const double value : bare.first(std::min(bare.size(), kConvertedMax))) {
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
    if (quantity.ordinal && !quantity.words && quantity.first_token > 0 &&
        text.at(quantity.first_token - 1).is("the"))
      days_.set(static_cast<size_t>(quantity.readings[0].value) % days_.size());
    for (const Reading& reading : quantity.read()) into.add(reading.value, reading.unit);
    if (!quantity.ordinal && !counts_things(text, quantity)) add_bare(quantity);
    if (quantity.year) years_.push_back(static_cast<int32_t>(quantity.readings[0].value));
  };
  std::ranges::for_each(facts.quantities, take);
  for (const Quantity& quantity : facts.quantities) {
    if (is_of_code(text, quantity)) continue;
    combined_.add(quantity);
    if (quantity.year && counts_things(text, quantity)) combined_.add(no_year(quantity));
  }
  for (const Quantity& quantity : facts.quantities) {
    if (quantity.unit().dimension == Dimension::kTime && spans_.size() < kSpansMax)
      spans_.push_back(quantity.readings[0]);
  }
  for (size_t i = 1; i < facts.quantities.size(); ++i) {
    const Quantity &before = facts.quantities[i - 1], &quantity = facts.quantities[i];
    if (quantity.is_plain() && !before.is_plain() && !quantity.ordinal &&
        (is_statistic(text, quantity) || lacks_unit(text, quantity)))
      measured_.add(quantity.readings[0].value, before.unit());
  }
  std::ranges::for_each(facts.compounds, take);
  for (const Date& date : facts.dates) {
    // "1:17 h" is a span of time.
    if (date.minute > 0 && is_one_of(text.at(date.last_token).lower, {"h", "hr", "hrs", "hours"}))
      values_.add(date.minute, kInMinutes);
    if (const int32_t seconds = seconds_of(text, date); seconds >= 0) {  // "2:29:20" may be one
      values_.add(seconds, {Dimension::kTime, 1});
      if (clocked_.size() < kSpansMax) clocked_.push_back(seconds);
    }
    if (dates_.size() < kDatesMax) dates_.push_back(date);
    combined_.add(date);
    if (date.minute >= 0) minutes_.set(static_cast<size_t>(date.minute) % minutes_.size());
    if (date.other_minute >= 0)
      minutes_.set(static_cast<size_t>(date.other_minute) % minutes_.size());
    if (date.has_year()) years_.push_back(date.year);
    if (date.quarter > 0) ordinals_.add(date.quarter, {});
    if (date.day > 0) ordinals_.add(date.day, {});
  }
  for (const Name& name : facts.names) words_.add(text, name);
}

void Evidence::seal() {
  derived_.seal();
  years_.insert(years_.end(), derived_.years().begin(), derived_.years().end());
  std::ranges::sort(years_);
  years_.erase(std::unique(years_.begin(), years_.end()), years_.end());
  words_.seal();
  qualifiers_.seal();
  add_measured();
  for (const Unit& unit : named_) combined_.add_named(unit);
  values_.seal();
  ordinals_.seal();
  bare_.seal();
  measured_.seal();
}

// "the 3rd" of one text may be "3 March" or "chapter 3" in the other; three things are not.
bool Evidence::ranks(const Asked& asked, const Quantity& quantity) const {
  const Reading& reading = quantity.readings[0];
  if (quantity.ordinal) return ordinals_.hold(reading, quantity, false);
  if (!quantity.is_plain() || quantity.first_token == 0) return false;
  const Token& before = asked.text.at(quantity.first_token - 1);
  const bool titled = (is_upper_start(before.text) && !quantity.words) ||
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
    if (quantity.fraction && is_score(asked.text, quantity)) return true;
    if (reading.value == 1 && reading.unit.dimension == Dimension::kTime &&
        std::ranges::find(named_, reading.unit) != named_.end())
      return true;  // "one month's rent" of "1,450 a month"
    if (is_as_asked(reading, quantity)) return true;
    if (quantity.year && std::ranges::binary_search(years_, static_cast<int32_t>(reading.value)))
      return true;
  }
  if (qualifiers_.has_rate(asked.text, asked.sentence, quantity)) return true;
  return ranks(asked, quantity) || derives(asked, quantity) || counts(asked, quantity) ||
         spans_years(asked, quantity) || ages(asked, quantity);
}

// "72 out of 100", "three out of nine": two numbers that stand somewhere.
bool Evidence::is_score(const ReadText& text, const Quantity& quantity) const {
  if (!text.at(quantity.first_token + 1).is("out")) return false;
  auto most = read_quantity(text, quantity.last_token - 1);
  if (!most || most->fraction || !values_.hold(most->readings[0], *most, true)) return false;
  Reading score = most->readings[0];
  score.value *= quantity.readings[0].value;
  return values_.hold(score, *most, true);
}

// In proportion to what the question asks for; what it names, and as much more as the context says:
// "the next service?" at 30,000 km where one is due every 15,000 km.
bool Evidence::is_as_asked(const Reading& reading, const Quantity& quantity) const {
  if (quantity.ordinal || quantity.year) return false;
  if (scale_ != 1 && has_scaled(quantity, scale_)) return true;
  return std::ranges::any_of(asked_, [&](const Quantity& asked) {
    if (asked.is_plain() || !(asked.unit() == reading.unit)) return false;
    Reading more = reading;
    more.value -= asked.readings[0].value;
    return more.value > 0 && values_.hold(more, quantity, false);
  });
}

bool Evidence::spans_times(std::span<const Date> dates, const Quantity& quantity) const {
  const Reading& reading = quantity.readings[0];
  if (reading.unit.dimension != Dimension::kTime || quantity.ordinal) return false;
  const auto day = static_cast<int32_t>(minutes_.size());
  const double seconds = std::round(reading.value * reading.unit.factor), minutes = seconds / 60;
  if (seconds < 1) return false;
  if (std::ranges::any_of(clocked_, [&](int32_t from) {
        return std::ranges::find(clocked_, from + seconds) != clocked_.end();
      }))
    return true;
  if (minutes < 1 || minutes >= day || minutes != std::floor(minutes)) return false;
  const auto span = static_cast<int32_t>(minutes);
  return std::ranges::any_of(dates, [&](const Date& date) {
    if (date.minute < 0) return false;
    return minutes_.test(static_cast<size_t>((date.minute + span) % day)) ||
           minutes_.test(static_cast<size_t>((date.minute + day - span) % day));
  });
}

bool Evidence::has_share_of(const Quantity& quantity, double times) const {
  Reading one = quantity.readings[0];
  if (quantity.is_plain() || one.unit.dimension == Dimension::kShare ||
      one.unit.dimension == Dimension::kTemperature || times < 2 || times > kTimesMax ||
      times != std::floor(times))
    return false;
  one.value /= times;
  one.step /= times;
  return values_.hold(one, quantity, false);
}

bool Evidence::has_scaled(const Quantity& quantity, double scale) const {
  Reading part = quantity.readings[0];
  part.value /= scale;
  part.step /= scale;
  return !quantity.ordinal && !quantity.year && values_.hold(part, quantity, true);
}

bool Evidence::has_value(const Quantity& quantity) const {
  Reading plain = quantity.readings[0];
  plain.unit = {};
  return values_.hold(plain, quantity, true);
}

// Of plain cells below a heading "in $ million".
bool Evidence::follows_in_rows(const Reading& reading, const Quantity& quantity) const {
  if (reading.unit.dimension != Dimension::kMoney ||
      std::ranges::none_of(named_, [&](const Unit& unit) {
        return unit.dimension == Dimension::kMoney && unit.factor == reading.unit.factor &&
               may_be_currency(reading.unit.currency, unit.currency);
      }))
    return false;
  return derived_.may_follow().hold_plain(reading, quantity) ||
         std::ranges::any_of(scales_, [&](double scale) {
           Reading cell = reading;
           cell.value /= scale;
           cell.step /= scale;
           return derived_.may_follow().hold_plain(cell, quantity);
         });
}

bool Evidence::derives(const Asked& asked, const Quantity& quantity) const {
  if (quantity.ordinal) return false;
  return std::ranges::any_of(quantity.read(), [&](const Reading& reading) {
    // "More than half" reckons with nothing.
    const bool hedged = quantity.fraction && quantity.hedge != Hedge::kNone;
    return derived_.follows().hold(reading, quantity, false) ||
           ((asked.reckons || asks_to_reckon_) && !hedged &&
            (derived_.may_follow().hold(reading, quantity, false) ||
             follows_in_rows(reading, quantity)));
  });
}

// Small plain numbers of what the texts enumerate.
bool Evidence::counts(const Asked& asked, const Quantity& quantity) const {
  const double value = quantity.readings[0].value;
  const bool of_time = quantity.unit().dimension == Dimension::kTime;  // "both days", "four months"
  if (!(quantity.is_plain() || of_time) || quantity.ordinal || quantity.year || value < 2 ||
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
  if (quantity.unit().dimension != Dimension::kTime) return false;
  size_t next = quantity.last_token;
  if (asked.text.at(next).is("-")) ++next;
  const bool old = is_one_of(asked.text.at(next).lower, {"old", "olds"});
  const bool aged = quantity.first_token > 0 && asked.text.at(quantity.first_token - 1).is("aged");
  const auto asked_for = [&](const Quantity& each) {
    return each.is_plain() && each.readings[0].value == quantity.readings[0].value;
  };
  return (old || aged) && (bare_.hold_plain(quantity.readings[0], quantity) ||
                           std::ranges::any_of(asked_, asked_for));
}

// "aged 76": years without the word.
bool Evidence::spans_years(const Asked& asked, const Quantity& quantity) const {
  if (!quantity.is_plain() || !tells_age(asked.text, quantity)) return false;
  Reading years = quantity.readings[0];
  years.unit = kYears;
  return derived_.follows().hold(years, quantity, false);
}

bool Evidence::supports(const Date& date) const {
  if (std::ranges::any_of(dates_, [&](const Date& by) { return follows_from(date, by); }))
    return true;
  // "An hour before", of a time that the question has.
  if (std::ranges::any_of(asked_dates_, [&](const Date& asked) {
        return std::ranges::any_of(
            spans_, [&](const Reading& span) { return is_apart(date, asked, span); });
      }))
    return true;
  if (date.minute >= 0 && !date.half_day && date.day < 0 && date.month < 0 && date.weekday < 0 &&
      derived_.ends().test(static_cast<size_t>(date.minute) % derived_.ends().size()))
    return true;
  // "The 12th" in one place, a month in others.
  if (!date.has_year() && date.month > 0 && date.day > 0 && date.minute < 0 && date.weekday < 0 &&
      days_.test(static_cast<size_t>(date.day) % days_.size()) &&
      std::ranges::any_of(dates_, [&](const Date& by) { return by.month == date.month; }))
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

}  // namespace signalbox::grounding
