// Sums and differences are made of quantities that stand in one sentence or in two neighbours, a
// few dozen at most each: made of all, they would soon support any number.

#include "router/safety/grounding/derived.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "router/safety/grounding/calendar.h"
#include "router/safety/grounding/items.h"

namespace signalbox::grounding {
namespace {

constexpr size_t kTogetherMax = 12;  // quantities of two sentences that are combined
constexpr size_t kNearby = 3;        // sentences whose years are held against each other

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

}  // namespace

void Derived::add(const ReadText& text, const Sentence& sentence, Facts facts) {
  add_times(facts);
  add_ends(facts);
  add_row(text, sentence, facts);
  add_years(facts);
  // Together with the sentence before it.
  Facts together = std::exchange(last_, std::move(facts));
  together.quantities.insert(together.quantities.end(), last_.quantities.begin(),
                             last_.quantities.end());
  together.dates.insert(together.dates.end(), last_.dates.begin(), last_.dates.end());
  combine(text, sentence, together);
}

// "17:30 Yoga (75 min)" ends at 18:45.
void Derived::add_ends(const Facts& facts) {
  size_t ends = 0;
  for (const Date& date : facts.dates) {
    for (const Quantity& quantity : facts.quantities) {
      if (date.minute < 0 || date.half_day || quantity.unit().dimension != Dimension::kTime)
        continue;
      const double minutes = quantity.readings[0].value * quantity.unit().factor / 60;
      if (minutes < 1 || minutes >= static_cast<double>(ends_.size())) continue;
      ends_.set(static_cast<size_t>(date.minute + minutes) % ends_.size());
      if (++ends > kTogetherMax) return;
    }
  }
}

// The sums of a table's columns.
void Derived::add_row(const ReadText& text, const Sentence& sentence, const Facts& facts) {
  if (!is_row(text, sentence)) return end_table();
  size_t column = 0, token = sentence.first_token;
  for (const Quantity& quantity : facts.quantities) {
    for (; token < quantity.first_token; ++token) column += text.at(token).is("|");
    if (column >= columns_.size() || quantity.ordinal) continue;
    Column& sum = columns_[column];
    if (sum.rows > 0 && !(sum.unit == quantity.unit())) continue;
    sum.unit = quantity.unit();
    sum.value += quantity.readings[0].value;
    ++sum.rows;
  }
}

void Derived::end_table() {
  for (Column& column : columns_) {
    if (column.rows > 2) may_follow_.add(column.value, column.unit);
    column = {};
  }
}

void Derived::end_text() {
  end_table();
  last_ = {};
  near_.clear();
}

void Derived::seal() {
  follows_.seal();
  may_follow_.seal();
}

// Spans between the years of a sentence and those of the few before it; a year less where the
// months may be the other way round.
void Derived::add_years(const Facts& facts) {
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
  near_.push_back(own);
  if (near_.size() > kNearby) near_.pop_front();
  for (const auto& others : near_) {
    for (const int32_t a : others) {
      for (const int32_t b : own) {
        if (a == b) continue;
        const double years = std::abs(a - b);
        follows_.add(years, kYears);
        if (years > 1) follows_.add(years - 1, kYears);
      }
    }
  }
}

void Derived::add_pair(const ReadText& text, const Quantity& a, const Quantity& b) {
  const Unit& unit = a.unit();
  // "It raised £2,365. Half goes to the school."
  if (a.fraction != b.fraction && (a.is_plain() != b.is_plain()))
    follows_.add(a.readings[0].value * b.readings[0].value, a.is_plain() ? b.unit() : unit);
  if (!(unit == b.unit()) || a.ordinal || b.ordinal || a.year || b.year) return;
  const double x = a.readings[0].value, y = b.readings[0].value;
  Values& into = share_noun(text, a, b) ? follows_ : may_follow_;
  if (!a.range || !b.range) into.add(x + y, unit);
  into.add(std::abs(x - y), unit);
  const std::string_view between = text.at(b.first_token - 1).lower;
  const bool close = b.first_token <= a.last_token + 6;
  // "30 of the 120", "120, of which 30", and "from 100 to 120".
  for (size_t i = a.last_token; close && i < b.first_token; ++i) {
    if (text.at(i).is("of") && std::min(x, y) > 0)
      follows_.add(100 * std::min(x, y) / std::max(x, y), {Dimension::kShare, 0.01});
  }
  if (close && between == "to" && x != 0)
    follows_.add(100 * std::abs(y - x) / std::abs(x), {Dimension::kShare, 0.01});
}

// "Revenue was $100 million in 2023 and $120 million in 2024": by how much it grew. Of the next
// alone: shares of all pairs would be nearly all there are.
void Derived::add_growth(std::span<const Quantity> from, bool row) {
  const Unit& unit = from[0].unit();
  const double x = from[0].readings[0].value;
  if ((from[0].is_plain() && !row) || from[0].year || from[0].ordinal ||
      unit.dimension == Dimension::kShare || x == 0)
    return;
  const auto next = std::ranges::find_if(
      from.subspan(1), [&](const Quantity& other) { return other.unit() == unit; });
  if (next == from.end()) return;
  const double y = next->readings[0].value;
  if (y == 0) return;
  for (const double earlier : {x, y})  // "rose to 120 (2023: 100)"
    may_follow_.add(100 * std::abs((y - x) / earlier), {Dimension::kShare, 0.01});
}

// "15 years after 1990", "since 5 March 1932 ... 8 years earlier".
void Derived::add_year(const ReadText& text, const Quantity& span, const Facts& facts) {
  if (span.unit().dimension != Dimension::kTime) return;
  const double years = span.readings[0].value * span.unit().factor / kYears.factor;
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

void Derived::combine(const ReadText& text, const Sentence& sentence, const Facts& facts) {
  const size_t count = std::min(facts.quantities.size(), kTogetherMax);
  const auto last = std::span(facts.quantities).last(count);
  const bool row = text.at(sentence.first_token).is("|");  // of a table
  for (size_t i = 0; i < count; ++i) {
    const Quantity& a = last[i];
    if (a.unit().dimension == Dimension::kShare)
      may_follow_.add(1 / a.unit().factor - a.readings[0].value, a.unit());
    for (size_t j = i + 1; j < count; ++j) add_pair(text, a, last[j]);
    add_growth(last.subspan(i), row);
    add_year(text, a, facts);
  }
  // The sum of all that one sentence has of a kind.
  for (size_t i = 0; i < count; ++i) {
    if (last[i].begin < sentence.begin) continue;
    double sum = 0;
    size_t of = 0;
    for (size_t j = i; j < count; ++j) {
      if (!(last[j].unit() == last[i].unit()) || last[j].ordinal || last[j].year) continue;
      if (last[j].range) continue;
      sum += last[j].readings[0].value;
      if (++of >= 3) (last[i].is_plain() ? may_follow_ : follows_).add(sum, last[i].unit());
    }
  }
}

// Days between two dates, each read both ways round where it can be.
void Derived::add_days(const Date& a, const Date& b) {
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
      follows_.add(static_cast<double>(days), kInDays);
      follows_.add(static_cast<double>(days + 1), kInDays);
    }
  }
}

// From nine to five, from June 3 to June 10.
void Derived::add_times(const Facts& facts) {
  const size_t count = std::min(facts.dates.size(), kTogetherMax);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      const Date &a = facts.dates[i], &b = facts.dates[j];
      if (a.minute >= 0 && b.minute >= 0) {
        const int32_t minutes = (b.minute - a.minute + 1440) % 1440;
        if (minutes == 0) continue;
        follows_.add(minutes, kInMinutes);
        if (a.half_day || b.half_day) follows_.add(minutes % 720, kInMinutes);
      }
      add_days(a, b);
    }
  }
}

}  // namespace signalbox::grounding
