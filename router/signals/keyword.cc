// Keywords are numbered over all signals. Each keyword goes to the matcher of its method and case
// sensitivity. A matcher scans the text once, however many keywords it has.

#include "router/signals/keyword.h"

#include <string>

#include "router/signals/matching/keyword_matcher.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

using Operator = config::KeywordSignal::Operator;
using KeywordMethod = config::KeywordSignal::Method;

// Per-request work space that a thread reuses.
struct Scratch {
  std::vector<bool> seen;         // (keywords)
  std::vector<uint32_t> matched;  // (signals) number of keywords that occur
};

class IndexedKeywords : public KeywordSignals {
 public:
  explicit IndexedKeywords(const std::vector<config::KeywordSignal>& signals) : signals_(signals) {}

  Result<void> index(std::string_view source) {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const config::KeywordSignal& signal = signals_[i];
      Result<void> added;
      for (size_t k = 0; k < signal.keywords.size() && added; ++k) {
        const std::string& keyword = signal.keywords[k];
        const auto number = static_cast<uint32_t>(keywords_.size());
        keywords_.push_back({i, keyword});
        added = matcher(signal.method, signal.case_sensitive).add(number, keyword, signal);
        if (added && signal.fuzzy_match && signal.method != KeywordMethod::kFuzzy)
          added =
              matcher(KeywordMethod::kFuzzy, signal.case_sensitive).add(number, keyword, signal);
      }
      for (size_t k = 0; k < signal.patterns.size() && added; ++k) {
        added = matcher(KeywordMethod::kRegex, signal.case_sensitive)
                    .add(static_cast<uint32_t>(keywords_.size()), signal.patterns[k], signal);
        keywords_.push_back({i, signal.patterns[k]});
      }
      if (!added)
        return fail_in(place_of(source, signal.line, "keyword", signal.name),
                       std::move(added).error());
    }
    for (const auto& each : matchers_) {
      if (!each) continue;
      SIGNALBOX_TRY_VOID(each->finish());
    }
    return {};
  }

  std::string_view type() const override { return "keyword"; }
  Needs needs() const override { return Needs::kRequest; }
  size_t size() const override { return signals_.size(); }
  std::string_view name(size_t signal) const override { return signals_[signal].name; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    static thread_local Scratch scratch;
    scratch.matched.assign(signals_.size(), 0);
    scratch.seen.assign(keywords_.size(), false);
    const LentKeywordText text(inputs.request().user_text());
    KeywordHits hits(keywords_, scratch.seen, scratch.matched, evidence);
    for (const auto& each : matchers_) {
      if (each) each->match(*text, hits);
    }
    for (size_t i = 0; i < signals_.size(); ++i)
      out[i] = reading_of(signals_[i], scratch.matched[i]);
    return {};
  }

 private:
  static constexpr size_t kMethods = 5;

  KeywordMatcher& matcher(KeywordMethod method, bool case_sensitive) {
    const size_t index = static_cast<size_t>(method) * 2 + (case_sensitive ? 1 : 0);
    std::unique_ptr<KeywordMatcher>& slot = matchers_[index];
    if (slot) return *slot;
    switch (method) {
      case KeywordMethod::kWords:
        slot = literal_matcher(!case_sensitive);
        break;
      case KeywordMethod::kRegex:
        slot = pattern_matcher();
        break;
      case KeywordMethod::kBm25:
        slot = bm25_matcher(!case_sensitive);
        break;
      case KeywordMethod::kNgram:
        slot = ngram_matcher(!case_sensitive);
        break;
      case KeywordMethod::kFuzzy:
        slot = fuzzy_matcher(!case_sensitive);
        break;
    }
    return *slot;
  }

  static Reading reading_of(const config::KeywordSignal& signal, uint32_t matched) {
    const size_t all = signal.keywords.size() + signal.patterns.size();
    const double share = all == 0 ? 0 : matched / static_cast<double>(all);
    switch (signal.op) {
      case Operator::kAnd:
        return make_reading(matched == all, 0.5 + 0.5 * share, share);
      case Operator::kOr:
        return make_reading(matched > 0, 0.5 + 0.5 * share, share);
      case Operator::kNor:
        return make_reading(matched == 0, 1, share);
    }
    return {};
  }
  static Reading make_reading(bool matched, double confidence, double share) {
    return {matched, matched ? confidence : 0, share};
  }

  const std::vector<config::KeywordSignal> signals_;
  std::vector<Keyword> keywords_;
  std::array<std::unique_ptr<KeywordMatcher>, 2 * kMethods> matchers_;
};

}  // namespace

Result<std::unique_ptr<const SignalType>> KeywordSignals::create(
    const std::vector<config::KeywordSignal>& signals, std::string_view source) {
  auto made = std::make_unique<IndexedKeywords>(signals);
  SIGNALBOX_TRY_VOID(made->index(source));
  return made;
}

}  // namespace signalbox::signals
