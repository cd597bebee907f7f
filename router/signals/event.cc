// Signals of type event. Each criterion of a signal is implemented as a keyword signal that any of
// its words matches.

#include <array>

#include "router/signals/matching/keyword_matcher.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr std::array<std::string_view, 4> kSeverities{"critical", "high", "medium", "low"};
constexpr std::array<std::string_view, 8> kUrgency{"urgent",         "immediate",      "asap",
                                                   "deadline",       "time-sensitive", "now",
                                                   "time sensitive", "critical window"};

const config::KeywordSignal kDefaultKeyword;

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
        SIGNALBOX_TRY(const std::string normalized, normalize_keyword(each, true));
        for (const std::string_view known : kSeverities) {
          if (normalized == known) severities.push_back(known);
        }
      }
      SIGNALBOX_TRY_VOID(add(i, severities));
      if (!signal.temporal) continue;
      SIGNALBOX_TRY_VOID(add(i, kUrgency));
    }
    return matcher_->finish();
  }

  std::string_view type() const override { return "event"; }
  Needs needs() const override { return Needs::kRequest; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const LentKeywordText text(inputs.request().user_text());
    std::vector<bool> seen(keywords_.size(), false);
    std::vector<uint32_t> matched(criteria_.size(), 0);
    std::vector<Evidence> found;
    KeywordHits hits(keywords_, seen, matched, found);
    matcher_->match(*text, hits);
    for (const Evidence& each : found)
      evidence.push_back({criteria_[each.signal], each.text, each.score});
    std::vector<uint32_t> configured(signals_.size(), 0), met(signals_.size(), 0);
    for (size_t c = 0; c < criteria_.size(); ++c) {
      ++configured[criteria_[c]];
      met[criteria_[c]] += matched[c] > 0 ? 1 : 0;
    }
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (met[i] == 0) continue;
      const double share = met[i] / static_cast<double>(configured[i]);
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
      auto added = matcher_->add(static_cast<uint32_t>(keywords_.size()), word, kDefaultKeyword);
      if (!added) {
        return fail_in(fmt::format("event signal \"{}\"", signals_[signal].name),
                       std::move(added).error());
      }
      keywords_.push_back({criterion, word});
    }
    return {};
  }

  std::unique_ptr<KeywordMatcher> matcher_ = literal_matcher(true);
  std::vector<Keyword> keywords_;   // (keywords), each with its criterion
  std::vector<uint32_t> criteria_;  // (criteria): index of the signal
};

}  // namespace

SignalTypeResult event_signals(const std::vector<config::EventSignal>& signals) {
  auto made = std::make_unique<EventSignals>(signals);
  SIGNALBOX_TRY_VOID(made->compile());
  return made;
}

}  // namespace signalbox::signals
