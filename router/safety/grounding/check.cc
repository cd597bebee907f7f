// Looks up every figure, date, name and address of an answer in the context and the question.
//
// Most figures that a faithful answer has and its context does not are computed: totals,
// differences, shares, days later. The check does not try to recompute them, because two of the
// many figures of a context give nearly any number. It reports a missing figure only if the
// sentence restates a sentence of the context that has a figure of the same kind, and if the
// sentence has neither a word of arithmetic nor another figure of that kind from the context. It
// returns all other missing figures as unchecked.

#include "router/safety/grounding/check.h"

#include <algorithm>
#include <utility>

#include "router/safety/grounding/names.h"

namespace signalbox::grounding {
namespace {

using namespace text;

// Scores of findings. Figures are compared by value, names only by spelling.
constexpr double kFigureScore = 0.95;
constexpr double kUnitScore = 0.85;
constexpr double kNameScore = 0.7;

// Pairs of an answer's sentence and a context's sentence that are compared. With more pairs, the
// missing figures of later sentences are unchecked.
constexpr size_t kComparedMax = size_t{1} << 26;

// A year is a date unless it counts something, as in "1932 guests".
bool stands_as_year(const ReadText& text, const Quantity& quantity) {
  const Token& next = text.at(quantity.last_token);
  return quantity.year && (next.kind != TokenKind::kWord || is_common_word(next.lower));
}

// Words of totals and comparisons. A sentence with one may state a result.
bool is_arithmetic(const Token& token) {
  return is_one_of(token.lower,
                   {"total", "sum", "altogether", "together", "combined", "average", "difference",
                    "than", "later", "earlier", "times", "doubling", "doubled"});
}

class FactCheck {
 public:
  FactCheck(const Evidence& evidence, const SentenceIndex& index, const ReadText& answer)
      : evidence_(evidence), index_(index), answer_(answer), names_(evidence.words(), answer) {}

  CheckedFacts run() {
    for (const Sentence& sentence : answer_.sentences()) {
      if (!sentence.code) check_sentence(sentence);
    }
    for (const auto& [begin, end] : evidence_.addresses().unknown(answer_))
      add({begin, end, SpanVerdict::kFabricatedName, kNameScore});
    std::ranges::sort(out_.spans, {}, &Span::begin);
    std::ranges::sort(out_.unchecked, {}, &Span::begin);
    std::ranges::sort(out_.verified, {}, &ByteSpan::begin);
    return std::move(out_);
  }

 private:
  struct Missing {
    Span span;
    FigureKind kind;
    bool computed = false;  // a fraction such as "a third", which always is
  };

  void add(const Span& span) {
    (span.verdict == SpanVerdict::kUnchecked ? out_.unchecked : out_.spans).push_back(span);
  }

  void check_sentence(const Sentence& sentence) {
    Facts facts;
    read_facts(answer_, sentence, answer_.sentences().size() == 1, facts);
    FigureKinds verified;
    std::vector<Missing> missing;
    for (const Quantity& quantity : facts.quantities) {
      if (is_known(facts, quantity)) {
        out_.verified.push_back({quantity.begin, quantity.end});
        verified.set(kind_of(quantity));
      } else if (!quantity.vague) {
        missing.push_back({span_of(quantity), kind_of(quantity), quantity.fraction});
      }
    }
    for (const Date& date : facts.dates) {
      if (evidence_.has(date)) {
        out_.verified.push_back({date.begin, date.end});
        verified.set(kind_of(date));
      } else {
        missing.push_back(
            {{date.begin, date.end, SpanVerdict::kFabricatedDate, kFigureScore}, kind_of(date)});
      }
    }
    if (!missing.empty()) report(missing, restated_kinds(sentence) & ~verified);
    for (const Name& name : names_.unknown(sentence, facts))
      add({answer_.at(name.first_token).begin, answer_.at(name.last_token - 1).end,
           name.code ? SpanVerdict::kFabricatedNumber : SpanVerdict::kFabricatedName, kNameScore});
  }

  // `literal`: the kinds of figures that the sentence can only have copied.
  void report(std::vector<Missing>& missing, const FigureKinds& literal) {
    for (Missing& each : missing) {
      if (each.computed || !literal.test(each.kind)) {
        each.span.verdict = SpanVerdict::kUnchecked;
        each.span.score = 0;
      }
      add(each.span);
    }
  }

  // The kinds of figures in the context sentences that the sentence restates. Empty if it may state
  // a result, such as the count of a list that follows.
  FigureKinds restated_kinds(const Sentence& sentence) {
    FigureKinds out;
    const auto& tokens = answer_.tokens();
    const bool announces_list = answer_.at(sentence.last_token - 1).is(":");
    compared_ += index_.size();
    if (compared_ > kComparedMax || announces_list ||
        std::any_of(tokens.begin() + sentence.first_token, tokens.begin() + sentence.last_token,
                    is_arithmetic))
      return out;
    for (const uint32_t of : index_.restated_by(answer_, sentence)) out |= evidence_.kinds(of);
    return out;
  }

  // "1 hour 30 minutes" is known as one quantity or as two.
  bool is_known(const Facts& facts, const Quantity& quantity) const {
    if (evidence_.has(answer_, quantity)) return true;
    auto both = std::ranges::lower_bound(facts.compounds, quantity.end, {}, &Quantity::end);
    for (; both != facts.compounds.end() && both->begin <= quantity.begin; ++both) {
      if (evidence_.has(answer_, *both)) return true;
    }
    return false;
  }

  Span span_of(const Quantity& quantity) const {
    if (stands_as_year(answer_, quantity))
      return {quantity.begin, quantity.end, SpanVerdict::kFabricatedDate, kFigureScore};
    if (!quantity.is_plain() && evidence_.has_number(quantity))
      return {quantity.begin, quantity.end, SpanVerdict::kFabricatedUnit, kUnitScore};
    return {quantity.begin, quantity.end, SpanVerdict::kFabricatedNumber, kFigureScore};
  }

  const Evidence& evidence_;
  const SentenceIndex& index_;
  const ReadText& answer_;
  NameCheck names_;
  size_t compared_ = 0;
  CheckedFacts out_;
};

}  // namespace

CheckedFacts check_facts(const Evidence& evidence, const SentenceIndex& index,
                         const ReadText& answer) {
  return FactCheck(evidence, index, answer).run();
}

}  // namespace signalbox::grounding
