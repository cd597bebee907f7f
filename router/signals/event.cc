// Each criterion of a signal is a keyword signal of its own inside: any of its words.

#include <array>

#include "router/signals/matching/keyword_matcher.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr std::array<std::string_view, 4> kSeverities{"critical", "high", "medium", "low"};
constexpr std::array<std::string_view, 8> kUrgency{"urgent",         "immediate",      "asap",
                                                   "deadline",       "time-sensitive", "now",
                                                   "time sensitive", "critical window"};

const config::KeywordSignal kPlainWord;

class EventSignals : public NamedSignals<config::EventSignal> {
 public:
  using NamedSignals::NamedSignals;

  Result<void> compile() {
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const config::EventSignal& signal = signals_[i];
      SIGNALBOX_TRY_VOID(add(i, signal.event_types));
      SIGNALBOX_TRY_VOID(add(i, signal.action_codes));
      std::vector<std::string_view> severities;
      for (const std::string& each : signal.severities) {
        SIGNALBOX_TRY(const std::string folded, folded_keyword(each, true));
        for (const std::string_view known : kSeverities) {
          if (folded == known) severities.push_back(known);
        }
      }
      SIGNALBOX_TRY_VOID(add(i, severities));
      if (!signal.temporal) continue;
      SIGNALBOX_TRY_VOID(add(i, kUrgency));
    }
    return words_->finish();
  }

  std::string_view type() const override { return "event"; }
  Needs needs() const override { return Needs::kRequest; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    static thread_local KeywordText text;
    text.reset(inputs.request().user_text());
    std::vector<bool> seen(keywords_.size(), false);
    std::vector<uint32_t> matched(criteria_.size(), 0);
    std::vector<Evidence> found;
    KeywordHits hits(keywords_, seen, matched, found);
    words_->match(text, hits);
    for (const Evidence& each : found)
      evidence.push_back({criteria_[each.signal], each.text, each.score});
    std::vector<uint32_t> given(signals_.size(), 0), held(signals_.size(), 0);
    for (size_t c = 0; c < criteria_.size(); ++c) {
      ++given[criteria_[c]];
      held[criteria_[c]] += matched[c] > 0 ? 1 : 0;
    }
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (held[i] == 0) continue;
      const double share = held[i] / static_cast<double>(given[i]);
      out[i] = {true, 0.5 + 0.5 * share, share};
    }
    return {};
  }

 private:
  template <class Words>
  Result<void> add(uint32_t signal, const Words& words) {
    if (words.empty()) return {};
    const auto criterion = static_cast<uint32_t>(criteria_.size());
    criteria_.push_back(signal);
    for (const std::string_view word : words) {
      auto added = words_->add(static_cast<uint32_t>(keywords_.size()), word, kPlainWord);
      if (!added) {
        return fail_in(fmt::format("event signal \"{}\"", signals_[signal].name),
                       std::move(added).error());
      }
      keywords_.push_back({criterion, word});
    }
    return {};
  }

  std::unique_ptr<KeywordMatcher> words_ = literal_matcher(true);
  std::vector<Keyword> keywords_;   // of criteria
  std::vector<uint32_t> criteria_;  // signals
};

}  // namespace

MadeSignals event_signals(const std::vector<config::EventSignal>& signals) {
  auto made = std::make_unique<EventSignals>(signals);
  SIGNALBOX_TRY_VOID(made->compile());
  return made;
}

}  // namespace signalbox::signals
