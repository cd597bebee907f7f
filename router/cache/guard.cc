// Runs the cheap comparisons first, then compares the content words in order.

#include "router/cache/guard.h"

#include <algorithm>
#include <cmath>

#include "router/cache/guard_reading.h"
#include "router/cache/guard_words.h"
#include "router/signals/language.h"

namespace signalbox::cache {
namespace {

constexpr double kRounding = 1e-9;       // rounding error of unit factors
constexpr double kSureOfLanguage = 0.6;  // share of a text's words and letters
constexpr double kTrace = 0.2;           // share that two languages have in common

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

size_t negations(const std::vector<ContentWord>& words) {
  return static_cast<size_t>(
      std::ranges::count_if(words, [](const ContentWord& word) { return is_negation(word.text); }));
}

// True for "In Python, how are lists sorted" and "how are lists sorted in Python": the part that
// moves follows a preposition in both.
bool is_moved(const std::vector<ContentWord>& a, const std::vector<ContentWord>& b) {
  if (a.size() != b.size() || a.size() < 3) return false;
  for (size_t shift = 1; shift <= 2 && shift + 2 <= a.size(); ++shift) {
    const auto cut = a.begin() + static_cast<std::ptrdiff_t>(shift);
    const auto end = b.end() - static_cast<std::ptrdiff_t>(shift);
    if (a.front().after_preposition == 0 || end->after_preposition == 0) continue;
    if (std::equal(cut, a.end(), b.begin(), end) && std::equal(a.begin(), cut, end, b.end()))
      return true;
  }
  return false;
}

// True if one text has a name, a word with a capital somewhere, that the other lacks.
bool names_differ(const std::vector<ContentWord>& a, const std::vector<ContentWord>& b) {
  return std::ranges::any_of(a, [&](const ContentWord& word) {
    return word.is_name && std::ranges::find(b, word) == b.end();
  });
}

bool languages_differ(std::string_view a, std::string_view b) {
  const signals::LanguageShares first = signals::language_shares(a),
                                second = signals::language_shares(b);
  for (const auto& [language, share] : first) {
    const auto found = second.find(language);
    if (share < kSureOfLanguage || (found != second.end() && found->second > kTrace)) continue;
    if (std::ranges::any_of(second,
                            [](const auto& each) { return each.second >= kSureOfLanguage; }))
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
  const Reading first = read_question(a), second = read_question(b);
  if (first.quoted != second.quoted) return Difference::kQuoted;
  if (!std::ranges::equal(first.quantities, second.quantities, same_value) ||
      !std::ranges::equal(first.dates, second.dates, same_date))
    return Difference::kNumbers;
  if (negations(first.words) != negations(second.words)) return Difference::kNegation;
  if (languages_differ(a, b)) return Difference::kLanguage;
  const bool same = first.words == second.words || is_moved(first.words, second.words) ||
                    is_moved(second.words, first.words);
  if (!same && (names_differ(first.words, second.words) || names_differ(second.words, first.words)))
    return Difference::kNames;
  if (!same) return Difference::kWords;
  const bool persons_differ =
      !first.persons.empty() && !second.persons.empty() && first.persons != second.persons;
  if (first.kinds != second.kinds || persons_differ || first.past != second.past ||
      first.future != second.future)
    return Difference::kQuestion;
  return Difference::kNone;
}

}  // namespace signalbox::cache
