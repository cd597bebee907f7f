// Sentence by sentence what the context has; then what an answer has drawn from that itself: a
// total, a count of its own list.

#include "router/safety/grounding/check.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "router/safety/grounding/combined.h"
#include "router/safety/grounding/names.h"
#include "router/safety/grounding/shown.h"

namespace signalbox::grounding {
namespace {

// How sure each finding is: numbers and dates are compared, names only looked up.
constexpr double kSureOfNumber = 0.95;
constexpr double kSureOfDate = 0.95;
constexpr double kSureOfUnit = 0.85;
constexpr double kSureOfName = 0.7;

constexpr size_t kSentencesBefore = 2;  // whose figures a sentence reckons with
constexpr size_t kItemsBehind = 6;      // that are added up before a list
constexpr size_t kOperandsMax = 12;
constexpr size_t kBesideMax = 24;  // figures beside a sum that its parts are looked for among
constexpr size_t kCombinationsMax = 4000;  // figures of an answer that all pairs are tried for
constexpr size_t kRounds = 3;              // "3 at £38 are £114, less 10 % (£11.40): £102.60"

// How likely a made-up figure may be to be taken for one that others give: any of the context, or
// those around it in the answer; where the sentence compares, more.
using Chance = Combined::Chance;
constexpr Chance kChance = {0.03}, kChanceCompared = {0.25, true};
constexpr Chance kChanceNear = {0.06}, kChanceNearCompared = {0.35, true};
constexpr Chance kChanceOfShare = {0.15, true};  // growth is given by any two figures
constexpr Chance kChanceOfPart = {0.1, true}, kChanceOfTimes = {0.03, true};  // "half", "twice"
constexpr Chance kChanceOfAge = {0.2, true};
constexpr Chance kChanceOfDate = {0.06}, kChanceOfDateCompared = {0.25, true};

// The operands that are nearest to what they may give.
template <class Operand>
std::span<const Operand> last_of(std::span<const Operand> operands, size_t most) {
  return operands.last(std::min(operands.size(), most));
}
template <class Operand>
std::span<const Operand> last_of(const std::vector<Operand>& operands) {
  return last_of<Operand>(std::span(operands), kOperandsMax);
}
std::span<const Quantity> first_of(std::span<const Quantity> parts) {
  return parts.first(std::min(parts.size(), kBesideMax));
}

class Checker {
 public:
  Checker(const Evidence& evidence, const ReadText& answer)
      : evidence_(evidence), text_(answer), names_(evidence.words(), answer) {
    own_items_.add(answer);
    for (const Token& token : answer.tokens()) {
      if (says_to_scale(token) != 1) scale_ = says_to_scale(token);
    }
  }

  CheckedFacts run() {
    for (const Sentence& sentence : text_.sentences()) {
      if (!sentence.code) check_sentence(sentence);
    }
    // A list may come behind its sum.
    for (size_t pass = 0; pass < 2; ++pass) {
      for (size_t i = 0; i < claims_.size(); ++i) reckon(i);
    }
    for (const Claims& claims : claims_) report(claims);
    for (const auto& [begin, end] : evidence_.addresses().unknown(text_))
      add(begin, end, GroundingVerdict::kFabricatedName, kSureOfName);
    std::ranges::sort(spans_, {}, &GroundingSpan::begin);
    std::ranges::sort(verified_, {}, &ByteSpan::begin);
    return {std::move(spans_), std::move(verified_)};
  }

 private:
  // What a sentence says of numbers and dates.
  struct Claims {
    std::vector<Quantity> known, unknown;
    size_t in_order = 0;              // of the known, at their beginning
    std::vector<Quantity> compounds;  // of which an unknown one is part
    std::vector<Date> known_dates, unknown_dates;
    bool reckons = false;
    bool compares = false;
    bool announces = false;  // a list: it ends with a colon
  };

  void check_sentence(const Sentence& sentence) {
    Facts facts;
    read_facts(text_, sentence, text_.sentences().size() == 1, facts);
    const Asked asked(text_, sentence);
    Claims& claims = claims_.emplace_back();
    claims.reckons = asked.reckons || evidence_.asks_to_reckon();
    claims.compares = asked.compares || evidence_.asks_to_reckon();
    claims.announces = text_.at(sentence.last_token - 1).is(":");
    check_quantities(asked, facts, claims);
    for (const Date& date : facts.dates) {
      if (evidence_.supports(date)) {
        verified_.push_back({date.begin, date.end});
        claims.known_dates.push_back(date);
      } else {
        claims.unknown_dates.push_back(date);
      }
    }
    for (const Name& name : names_.unknown(sentence, facts))
      add(text_.at(name.first_token).begin, text_.at(name.last_token - 1).end,
          name.code ? GroundingVerdict::kFabricatedNumber : GroundingVerdict::kFabricatedName,
          kSureOfName);
  }

  void add(uint32_t begin, uint32_t end, GroundingVerdict verdict, double score) {
    spans_.push_back({begin, end, verdict, score});
  }

  // "in 1932", "(1932)", and no "1932 guests".
  bool stands_as_year(const Quantity& quantity) const {
    const Token& next = text_.at(quantity.last_token);
    return next.kind != TokenKind::kWord || is_common_word(next.lower);
  }

  // "Three colours: red, green and blue."
  bool enumerates(const Asked& asked, const Quantity& quantity) const {
    const Reading& reading = quantity.readings[0];
    return reading.unit == Unit{} && !quantity.ordinal && reading.value >= 2 &&
           reading.value <= 64 && reading.value == std::floor(reading.value) &&
           own_items_.hold(static_cast<size_t>(reading.value), text_, asked.sentence);
  }

  // Of its unit, or without one: "€54: 12 for the ticket, 4 for the tour and 38 for the book".
  static bool is_sum_of(std::span<const Quantity> parts, const Reading& all) {
    double sum = 0;
    size_t of = 0;
    for (const Quantity& part : parts) {
      if (part.ordinal || part.year || !(part.is_plain() || part.unit() == all.unit)) continue;
      sum += part.readings[0].value;
      if (++of > kOperandsMax) return false;
    }
    return of > 1 && std::abs(sum - all.value) <= all.step * 1e-6;
  }

  // "23 withdrew: 9 of one group and 14 of the other", "4 × 24".
  bool adds_up(const Claims& claims, const Quantity& quantity) const {
    if (quantity.ordinal || quantity.year) return false;
    const Reading& reading = quantity.readings[0];
    const auto in_order = std::span(claims.known).first(claims.in_order);
    const auto behind = std::ranges::lower_bound(in_order, quantity.end, {}, &Quantity::begin);
    const auto at = static_cast<size_t>(behind - in_order.begin());
    if (is_sum_of(first_of(in_order.subspan(at)), reading) ||
        (claims.reckons && is_sum_of(last_of<Quantity>(in_order.first(at), kBesideMax), reading)))
      return true;
    if (!quantity.is_plain()) return false;
    const auto is_times = [&](size_t token) {
      return is_one_of(text_.at(token).lower, {"×", "x", "*", "÷"});
    };
    constexpr double kConstants[] = {7, 12, 24, 52, 60, 100, 365, 1000};
    if (!is_times(quantity.last_token) && !is_times(quantity.first_token - 1)) return false;
    return std::ranges::find(kConstants, reading.value) != std::end(kConstants) ||
           multiplies(claims, quantity);
  }

  // "8 × €2.20" of 2 adults and 4 nights: so many of something that is known.
  bool multiplies(const Claims& claims, const Quantity& quantity) const {
    return evidence_.combined().gives_count(quantity.readings[0].value) &&
           std::ranges::any_of(claims.known, [&](const Quantity& other) {
             return other.first_token == quantity.last_token + 1 ||
                    other.last_token + 1 == quantity.first_token;
           });
  }

  // The value is there: whether it is what the answer says of it.
  void check_qualifiers(const Asked& asked, const Quantity& quantity) {
    const Qualifiers& known = evidence_.qualifiers();
    if (known.of_another_period(text_, asked.sentence, quantity)) {
      add(quantity.begin, quantity.end, GroundingVerdict::kFabricatedUnit, kSureOfUnit);
    } else if (!asked.denies && known.bounded_otherwise(text_, asked.sentence, quantity)) {
      add(quantity.begin, quantity.end, GroundingVerdict::kFabricatedNumber, kSureOfUnit);
    } else {
      verified_.push_back({quantity.begin, quantity.end});
    }
  }

  bool is_supported(const Asked& asked, const Facts& facts, const Quantity& quantity) const {
    return evidence_.supports(asked, quantity) || enumerates(asked, quantity) ||
           (scale_ != 1 && evidence_.has_scaled(quantity, scale_)) ||
           any_compound(facts.compounds, quantity,
                        [&](const Quantity& both) { return evidence_.supports(asked, both); });
  }

  // Of those that have the quantity as a part, two at most.
  template <class Holds>
  static bool any_compound(std::span<const Quantity> compounds, const Quantity& quantity,
                           Holds holds) {
    auto both = std::ranges::lower_bound(compounds, quantity.end, {}, &Quantity::end);
    for (; both != compounds.end() && both->begin <= quantity.begin; ++both) {
      if (holds(*both)) return true;
    }
    return false;
  }

  // "2.3 kilometres then, and now just 0.9."
  bool is_as_before(const Asked& asked, const Quantity& before, const Quantity& quantity) const {
    if (!quantity.is_plain() || quantity.ordinal || quantity.year || before.is_plain() ||
        !is_one_of(text_.at(quantity.last_token).lower, {".", ",", ";", ")", ""}))
      return false;
    Quantity same = quantity;
    same.readings[0].unit = before.unit();
    same.count = 1;
    return evidence_.supports(asked, same);
  }

  void check_quantities(const Asked& asked, const Facts& facts, Claims& claims) {
    for (size_t i = 0; i < facts.quantities.size(); ++i) {
      const Quantity& quantity = facts.quantities[i];
      if (is_supported(asked, facts, quantity) ||
          (i > 0 && is_as_before(asked, facts.quantities[i - 1], quantity))) {
        check_qualifiers(asked, quantity);
        claims.known.push_back(quantity);
      } else if (!quantity.vague) {
        claims.unknown.push_back(quantity);
      }
    }
    claims.in_order = claims.known.size();
    if (!claims.unknown.empty()) claims.compounds = facts.compounds;
  }

  // What the known figures around sentence `at` give is known too, and gives more.
  void reckon(size_t at) {
    const Claims& claims = claims_[at];
    for (size_t round = 0; round < kRounds; ++round) {
      if (claims.unknown.empty() && claims.unknown_dates.empty()) return;
      if (!take_shown(at)) return;
    }
  }

  void report(const Claims& claims) {
    for (const Quantity& quantity : claims.unknown) add_unknown(quantity);
    for (const Date& date : claims.unknown_dates)
      add(date.begin, date.end, GroundingVerdict::kFabricatedDate, kSureOfDate);
  }

  bool take_shown(size_t at) {
    Claims& claims = claims_[at];
    std::vector<Quantity> quantities = evidence_.asked();
    std::vector<Date> dates = evidence_.asked_dates();
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    const auto around = [&](size_t other) {
      if (other == at || other >= claims_.size()) return;
      append(quantities, claims_[other].known);
      append(dates, claims_[other].known_dates);
    };
    for (size_t before = kSentencesBefore; before > 0; --before) around(at - before);
    for (size_t behind = 1; behind <= (claims.announces ? kItemsBehind : 1); ++behind)
      around(at + behind);
    append(quantities, claims.known);
    append(dates, claims.known_dates);
    const Shown shown(last_of(quantities), last_of(dates), claims.reckons);
    const Combined near = combined(claims, last_of(quantities), last_of(dates));
    const size_t count = claims.unknown.size() + claims.unknown_dates.size();
    std::erase_if(claims.unknown, [&](const Quantity& quantity) {
      const auto is_given = [&](const Quantity& figure) {
        return is_shown(shown, last_of(claims.known), last_of(dates), figure) ||
               is_combined(near, claims, figure);
      };
      const auto is_given_in = [&](Quantity figure, const Unit& unit) {
        if (!figure.is_plain() || is_plain(unit)) return false;
        figure.readings[0].unit = unit;
        return is_given(figure);
      };
      if (!adds_up(claims, quantity) && !is_given(quantity) &&
          !is_given_in(quantity, evidence_.asked_unit()) &&  // "how many hours": "thirteen"
          !(claims.reckons && is_given_in(quantity, unit_before(claims, quantity))) &&
          !any_compound(claims.compounds, quantity, is_given))
        return false;
      claims.known.push_back(quantity);
      verified_.push_back({quantity.begin, quantity.end});
      return true;
    });
    std::erase_if(claims.unknown_dates, [&](const Date& date) {
      if (!shown.gives(date) && !is_combined(near, claims, date)) return false;
      claims.known_dates.push_back(date);
      verified_.push_back({date.begin, date.end});
      return true;
    });
    return claims.unknown.size() + claims.unknown_dates.size() < count;
  }

  // What the figures around a sentence give; plain ones are of the units that it reckons in: "29
  // days: 27 plus two".
  static Combined combined(const Claims& claims, std::span<const Quantity> quantities,
                           std::span<const Date> dates) {
    Combined out;
    for (const Quantity& quantity : quantities) out.add(quantity);
    for (const Quantity& both : last_of(claims.compounds)) out.add(both);
    for (const Date& date : dates) out.add(date);
    out.take_rates();
    for (const Quantity& unknown : last_of(claims.unknown)) {
      const Unit unit = unknown.is_plain() ? unit_before(claims, unknown) : unknown.unit();
      if (claims.reckons && !is_plain(unit)) out.add_named(unit);
    }
    return out;
  }

  // Of the nearest known figure before it that has one: "of the €54 million 31 are spent".
  static Unit unit_before(const Claims& claims, const Quantity& quantity) {
    const auto in_order = std::span(claims.known).first(claims.in_order);
    const auto behind = std::ranges::lower_bound(in_order, quantity.begin, {}, &Quantity::end);
    Unit out;
    for (const Quantity& known : last_of<Quantity>(
             in_order.first(static_cast<size_t>(behind - in_order.begin())), kBesideMax)) {
      if (!known.is_plain()) out = known.unit();
    }
    return out;
  }

  // Whether so many things are meant, or months for money; and no "Windows 10".
  bool counts(const Quantity& times, const Quantity& of) const {
    const bool paid = of.unit().dimension == Dimension::kMoney;
    if (times.unit().dimension == Dimension::kTime) return paid;
    const Token& thing = text_.at(times.last_token);
    return times.is_plain() && !times.ordinal && !times.year &&
           (paid || thing.is("×") ||
            (thing.kind == TokenKind::kWord && !is_common_word(thing.lower))) &&
           (times.first_token == 0 || !is_upper_start(text_.at(times.first_token - 1).text));
  }

  bool is_shown(const Shown& shown, std::span<const Quantity> known, std::span<const Date> dates,
                const Quantity& quantity) const {
    return shown.gives(quantity) || evidence_.spans_times(dates, quantity) ||
           std::ranges::any_of(known, [&](const Quantity& times) {  // "two tickets are €40"
             return counts(times, quantity) &&
                    evidence_.has_share_of(quantity, times.readings[0].value);
           });
  }

  bool may_combine() {
    if (combinations_ == 0) return false;
    --combinations_;
    return true;
  }

  // Whether figures of the answer around it give it, or any of the context.
  bool is_combined(const Combined& near, const Claims& claims, const Quantity& written) {
    if (is_of_code(text_, written) || written.range || !may_combine()) return false;
    const Combined& all = evidence_.combined();
    const Quantity quantity = stands_as_year(written) ? written : no_year(written);
    const bool plain = quantity.is_plain();
    const Token& next = text_.at(quantity.last_token);
    if (plain && next.is("points") && all.gives_points(quantity, kChanceCompared)) return true;
    if (plain && next.is("times"))
      return near.gives_ratio(quantity, kChanceOfTimes) ||
             all.gives_ratio(quantity, kChanceOfTimes);
    if (quantity.fraction)  // "3/4 cup" is no share of anything
      return quantity.words && (near.gives_ratio(quantity, kChanceOfPart) ||
                                all.gives_ratio(quantity, kChanceOfPart));
    if (plain && tells_age(text_, quantity)) {
      Quantity years = quantity;
      years.readings[0].unit = kYears;
      return all.gives(years, kChanceOfAge);
    }
    const Chance& compared = is_share(quantity.unit()) ? kChanceOfShare : kChanceCompared;
    return near.gives(quantity, claims.compares ? kChanceNearCompared : kChanceNear) ||
           all.gives(quantity, claims.compares ? compared : kChance);
  }

  bool is_combined(const Combined& near, const Claims& claims, const Date& date) {
    const Chance& chance = claims.compares ? kChanceOfDateCompared : kChanceOfDate;
    return may_combine() && (near.gives(date, chance) || evidence_.combined().gives(date, chance));
  }

  void add_unknown(const Quantity& quantity) {
    if (quantity.year && stands_as_year(quantity)) {
      add(quantity.begin, quantity.end, GroundingVerdict::kFabricatedDate, kSureOfDate);
      return;
    }
    const Reading& meant = quantity.readings[0];
    const bool of_other = meant.unit.dimension != Dimension::kNone && meant.value >= 0 &&
                          evidence_.has_value(quantity);
    if (of_other) {
      add(quantity.begin, quantity.end, GroundingVerdict::kFabricatedUnit, kSureOfUnit);
    } else {
      add(quantity.begin, quantity.end, GroundingVerdict::kFabricatedNumber, kSureOfNumber);
    }
  }

  const Evidence& evidence_;
  const ReadText& text_;
  NameCheck names_;
  double scale_ = 1;  // of all, where the answer says so
  size_t combinations_ = kCombinationsMax;
  Enumerations own_items_;
  std::vector<GroundingSpan> spans_;
  std::vector<ByteSpan> verified_;
  std::vector<Claims> claims_;  // a sentence each
};

}  // namespace

CheckedFacts check_facts(const Evidence& evidence, const ReadText& answer) {
  return Checker(evidence, answer).run();
}

}  // namespace signalbox::grounding
