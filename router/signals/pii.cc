// Signals of type pii. Evidence names the type of personal data, never the data itself. Without a
// model the rules still find the types that they cover, but then the absence of a match proves
// nothing.

#include <algorithm>

#include "base/ascii.h"
#include "router/signals/pii_finder.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

class PiiSignals : public NamedSignals<config::PiiSignal> {
 public:
  PiiSignals(const std::vector<config::PiiSignal>& signals, double threshold,
             ModelChoice classifier)
      : NamedSignals(signals),
        threshold_(threshold > 0 ? threshold : PiiFinder::kDefaultThreshold),
        lacks_(
            classifier.why.empty()
                ? ""
                : fmt::format("{}; types without a rule, such as names and places, are not found",
                              classifier.why)),
        stand_in_(classifier.stand_in),
        server_(classifier.server),
        finder_(std::move(classifier)) {
    for (const config::PiiSignal& signal : signals) {
      std::vector<std::string>& allowed = allowed_.emplace_back();
      for (const std::string& type : signal.pii_types_allowed)
        allowed.push_back(ascii::upper_case(type));
    }
  }

  std::string_view type() const override { return "pii"; }
  Needs needs() const override { return server_.empty() ? Needs::kClassifier : Needs::kServer; }
  Wording wording() const override { return {"score", "found"}; }
  std::string_view stand_in() const override { return stand_in_; }
  std::string_view server(size_t) const override { return server_; }
  std::optional<double> threshold(size_t signal) const override {
    const double own = signals_[signal].threshold;
    return own > 0 ? own : threshold_;
  }
  std::string_view lacks(size_t) const override { return lacks_; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const std::vector<std::string>& types = finder_.types();
    std::vector<double> turn_scores(types.size(), 0), history_scores(types.size(), 0);
    SIGNALBOX_TRY(const bool turn_whole,
                  finder_.find(inputs.request().turn_texts(), inputs, turn_scores));
    // Only rules read these texts, which the application writes: a model would read all tools on
    // every request.
    for (const std::string_view text : {std::string_view(inputs.request().definitions),
                                        std::string_view(inputs.request().sent)}) {
      finder_.find_by_rules(text, turn_scores);
      finder_.find_by_rules(text, history_scores);
    }
    const bool reads_history =
        std::any_of(signals_.begin(), signals_.end(),
                    [](const auto& signal) { return signal.include_history; });
    bool history_whole = true;
    if (reads_history) {
      SIGNALBOX_TRY(history_whole, finder_.find(inputs.request().texts(), inputs, history_scores));
    }
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const std::vector<double>& found = signals_[i].include_history ? history_scores : turn_scores;
      for (size_t t = 0; t < types.size(); ++t) {
        const auto& allowed = allowed_[i];
        if (std::find(allowed.begin(), allowed.end(), types[t]) != allowed.end()) continue;
        out[i].score = std::max(out[i].score, found[t]);
        if (found[t] < *threshold(i)) continue;
        out[i].matched = true;
        out[i].confidence = std::max(out[i].confidence, std::min(found[t], 1.0));
        evidence.push_back({i, types[t], found[t]});
      }
      out[i].known = out[i].matched || finder_.has_model();
      // No match in a part of the text does not mean no match in the whole text.
      out[i].whole = out[i].matched || (signals_[i].include_history ? history_whole : turn_whole);
    }
    return {};
  }

 private:
  double threshold_;
  std::string lacks_;
  std::string stand_in_;
  std::string server_;
  PiiFinder finder_;
  std::vector<std::vector<std::string>> allowed_;  // (signals)
};

}  // namespace

SignalTypeResult pii_signals(const std::vector<config::PiiSignal>& signals, double threshold,
                             ModelChoice classifier) {
  return std::make_unique<PiiSignals>(signals, threshold, std::move(classifier));
}

}  // namespace signalbox::signals
