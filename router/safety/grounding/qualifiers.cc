// A bound in a sentence that denies something is none. "Above 10" goes with "up to 10": of what is
// beyond a limit, texts say other things.

#include "router/safety/grounding/qualifiers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace signalbox::grounding {
namespace {

constexpr size_t kPeriodWithin = 6;     // tokens behind a quantity: "per user per month"
constexpr size_t kOccurrencesMax = 64;  // of a value; said more often it is not looked into
constexpr double kAboutRate = 0.03;     // "about 5,700 a month" of 68,000 a year
constexpr double kSameValue = 1e-7;     // what decimal fractions and factors of units lose

constexpr auto kPeriods = std::to_array<std::array<std::string_view, 2>>({{"second", "second"},
                                                                          {"sec", "second"},
                                                                          {"s", "second"},
                                                                          {"minute", "minute"},
                                                                          {"min", "minute"},
                                                                          {"hour", "hour"},
                                                                          {"h", "hour"},
                                                                          {"hr", "hour"},
                                                                          {"day", "day"},
                                                                          {"week", "week"},
                                                                          {"wk", "week"},
                                                                          {"month", "month"},
                                                                          {"mo", "month"},
                                                                          {"quarter", "quarter"},
                                                                          {"year", "year"},
                                                                          {"yr", "year"},
                                                                          {"annum", "year"}});
// How many seconds each of them has, about.
constexpr double kDaySeconds = 86400;
constexpr auto kLengths =
    std::to_array<std::pair<std::string_view, double>>({{"second", 1},
                                                        {"minute", 60},
                                                        {"hour", 3600},
                                                        {"day", kDaySeconds},
                                                        {"week", 7 * kDaySeconds},
                                                        {"month", kYears.factor / 12},
                                                        {"quarter", kYears.factor / 4},
                                                        {"year", kYears.factor}});

constexpr auto kAdverbs = std::to_array<std::array<std::string_view, 2>>({{"hourly", "hour"},
                                                                          {"daily", "day"},
                                                                          {"weekly", "week"},
                                                                          {"monthly", "month"},
                                                                          {"quarterly", "quarter"},
                                                                          {"yearly", "year"},
                                                                          {"annually", "year"}});

std::string_view meant_by(const auto& list, std::string_view word) {
  for (const auto& [name, period] : list) {
    if (name == word) return period;
  }
  return {};
}

// "a month", "/month", "per user per month", "monthly".
std::string_view period_after(const ReadText& text, size_t token, size_t end) {
  for (size_t i = token; i < std::min(token + kPeriodWithin, end); ++i) {
    const Token& at = text.at(i);
    if (const auto adverb = meant_by(kAdverbs, at.lower); !adverb.empty()) return adverb;
    const bool slash = at.is("/");
    if (at.kind != TokenKind::kWord && !slash) return {};
    if (!slash && !is_one_of(at.lower, {"per", "a", "an", "each", "every"})) continue;
    if (const auto period = meant_by(kPeriods, text.at(i + 1).lower); !period.empty())
      return period;
  }
  return {};
}

}  // namespace

bool denies(const ReadText& text, const Sentence& sentence) {
  return std::any_of(text.tokens().begin() + sentence.first_token,
                     text.tokens().begin() + sentence.last_token, [](const Token& token) {
                       return is_one_of(token.lower,
                                        {"not", "no", "never", "none", "without", "cannot", "nor",
                                         "unless", "except", "avoid", "neither"}) ||
                              token.lower.ends_with("n't") || token.lower.ends_with("n’t");
                     });
}

Qualifiers::Qualified Qualifiers::read(const ReadText& text, const Sentence& sentence,
                                       const Quantity& quantity) {
  const Reading& reading = quantity.readings[0];
  Qualified out{.value = reading.unit.to_base(reading.value),
                .dimension = reading.unit.dimension,
                .currency = reading.unit.currency,
                .period = period_after(text, quantity.last_token, sentence.last_token)};
  const bool bound = quantity.hedge == Hedge::kAtLeast || quantity.hedge == Hedge::kAtMost;
  if (bound && !quantity.range) out.bound = quantity.hedge;
  return out;
}

void Qualifiers::add(const ReadText& text, const Sentence& sentence,
                     std::span<const Quantity> quantities) {
  const bool denied = denies(text, sentence);
  for (const Quantity& quantity : quantities) {
    Qualified& added = qualified_.emplace_back(read(text, sentence, quantity));
    if (denied) added.bound = Hedge::kNone;
  }
}

void Qualifiers::seal() {
  std::ranges::sort(qualified_, {}, &Qualified::value);
}

// Whether the value stands in the texts, and `differs` holds wherever it does.
template <class Differs>
bool Qualifiers::all(const Qualified& asked, Differs differs) const {
  const double distance = kSameValue * std::max(std::abs(asked.value), 1e-3);
  auto at = std::ranges::lower_bound(qualified_, asked.value - distance, {}, &Qualified::value);
  bool found = false;
  size_t seen = 0;
  for (; at != qualified_.end() && at->value <= asked.value + distance; ++at) {
    if (++seen > kOccurrencesMax || !differs(*at)) return false;
    found = found || (at->dimension == asked.dimension &&
                      (at->currency == asked.currency || at->currency == 0 || asked.currency == 0));
  }
  return found;
}

bool Qualifiers::of_another_period(const ReadText& text, const Sentence& sentence,
                                   const Quantity& quantity) const {
  const Qualified asked = read(text, sentence, quantity);
  return !asked.period.empty() && all(asked, [&](const Qualified& each) {
    return !each.period.empty() && each.period != asked.period;
  });
}

bool Qualifiers::bounded_otherwise(const ReadText& text, const Sentence& sentence,
                                   const Quantity& quantity) const {
  const Qualified asked = read(text, sentence, quantity);
  return asked.bound != Hedge::kNone && all(asked, [&](const Qualified& each) {
           return each.bound != Hedge::kNone && each.bound != asked.bound;
         });
}

bool Qualifiers::has_rate(const ReadText& text, const Sentence& sentence,
                          const Quantity& quantity) const {
  const Qualified asked = read(text, sentence, quantity);
  const auto mine =
      std::ranges::find(kLengths, asked.period, &std::pair<std::string_view, double>::first);
  if (mine == kLengths.end() || quantity.ordinal || quantity.year) return false;
  const double step = quantity.readings[0].step *
                      std::max(asked.value / std::max(quantity.readings[0].value, 1e-9), 0.0);
  const double off =
      std::max(step / 2, quantity.hedge == Hedge::kAbout ? kAboutRate * asked.value : 0.0);
  return std::ranges::any_of(kLengths, [&](const auto& theirs) {
    const double ratio = theirs.second / mine->second;
    if (ratio == 1) return false;
    auto at = std::ranges::lower_bound(qualified_, (asked.value - off) * ratio * (1 - kSameValue),
                                       {}, &Qualified::value);
    size_t seen = 0;
    for (; at != qualified_.end() && at->value <= (asked.value + off) * ratio * (1 + kSameValue);
         ++at) {
      if (++seen > kOccurrencesMax) return false;
      if (at->period == theirs.first && at->dimension == asked.dimension) return true;
    }
    return false;
  });
}

}  // namespace signalbox::grounding
