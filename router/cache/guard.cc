// Cheap comparisons first; what the two say is compared word by word, in order.

#include "router/cache/guard.h"

#include <algorithm>
#include <cmath>

#include "router/cache/guard_reading.h"
#include "router/cache/guard_words.h"
#include "router/signals/language.h"

namespace signalbox::cache {
namespace {

constexpr double kRounding = 1e-9;       // what factors of units lose
constexpr double kSureOfLanguage = 0.6;  // of a text's words and letters
constexpr double kTrace = 0.2;           // words that two languages share

bool same_value(const text::Quantity& a, const text::Quantity& b) {
  const text::Reading &x = a.readings[0], &y = b.readings[0];
  const double left = x.unit.to_base(x.value), right = y.unit.to_base(y.value);
  return x.unit.dimension == y.unit.dimension && x.unit.currency == y.unit.currency &&
         a.ordinal == b.ordinal && a.hedge == b.hedge && a.range == b.range &&
         std::abs(left - right) <= kRounding * std::max(std::abs(left), std::abs(right));
}

bool same_date(const text::Date& a, const text::Date& b) {
  return a.year == b.year && a.years == b.years && a.month == b.month && a.day == b.day &&
         a.other_month == b.other_month && a.other_day == b.other_day && a.weekday == b.weekday &&
         a.quarter == b.quarter && a.minute == b.minute && a.half_day == b.half_day;
}

size_t negations(const std::vector<Said>& words) {
  return static_cast<size_t>(
      std::ranges::count_if(words, [](const Said& said) { return is_negation(said.word); }));
}

// "In Python, how are lists sorted" and "how are lists sorted in Python": what moves stands behind
// a preposition in both.
bool is_moved(const std::vector<Said>& a, const std::vector<Said>& b) {
  if (a.size() != b.size() || a.size() < 3) return false;
  for (size_t shift = 1; shift <= 2 && shift + 2 <= a.size(); ++shift) {
    const auto cut = a.begin() + static_cast<std::ptrdiff_t>(shift);
    const auto end = b.end() - static_cast<std::ptrdiff_t>(shift);
    if (a.front().moved == 0 || end->moved == 0) continue;
    if (std::equal(cut, a.end(), b.begin(), end) && std::equal(a.begin(), cut, end, b.end()))
      return true;
  }
  return false;
}

// A word that one says and the other does not has a capital somewhere.
bool names_differ(const std::vector<Said>& a, const std::vector<Said>& b) {
  return std::ranges::any_of(
      a, [&](const Said& said) { return said.name && std::ranges::find(b, said) == b.end(); });
}

bool languages_differ(std::string_view a, std::string_view b) {
  const signals::LanguageShares one = signals::language_shares(a),
                                other = signals::language_shares(b);
  for (const auto& [language, share] : one) {
    const auto found = other.find(language);
    if (share < kSureOfLanguage || (found != other.end() && found->second > kTrace)) continue;
    if (std::ranges::any_of(other, [](const auto& each) { return each.second >= kSureOfLanguage; }))
      return true;
  }
  return false;
}

}  // namespace

std::string_view difference_name(Difference difference) {
  switch (difference) {
    case Difference::kNone:
      return "none";
    case Difference::kNegation:
      return "negation";
    case Difference::kNumbers:
      return "numbers";
    case Difference::kNames:
      return "names";
    case Difference::kQuoted:
      return "quoted";
    case Difference::kQuestion:
      return "question";
    case Difference::kLanguage:
      return "language";
    case Difference::kWords:
      return "words";
  }
  return "";
}

Difference difference(std::string_view a, std::string_view b) {
  if (a == b) return Difference::kNone;
  if (a.size() > kQuestionBytesMax || b.size() > kQuestionBytesMax) return Difference::kWords;
  const Reading one = read_question(a), other = read_question(b);
  if (one.quoted != other.quoted) return Difference::kQuoted;
  if (!std::ranges::equal(one.quantities, other.quantities, same_value) ||
      !std::ranges::equal(one.dates, other.dates, same_date))
    return Difference::kNumbers;
  if (negations(one.words) != negations(other.words)) return Difference::kNegation;
  if (languages_differ(a, b)) return Difference::kLanguage;
  const bool same = one.words == other.words || is_moved(one.words, other.words) ||
                    is_moved(other.words, one.words);
  if (!same && (names_differ(one.words, other.words) || names_differ(other.words, one.words)))
    return Difference::kNames;
  if (!same) return Difference::kWords;
  const bool persons_differ =
      !one.persons.empty() && !other.persons.empty() && one.persons != other.persons;
  if (one.kinds != other.kinds || persons_differ || one.past != other.past ||
      one.future != other.future)
    return Difference::kQuestion;
  return Difference::kNone;
}

}  // namespace signalbox::cache
