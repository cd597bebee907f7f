// Signals of type reask: a user who repeats a question has probably not received a useful answer.
// If several of them match, only those that look back furthest remain, as in the Semantic Router.

#include <algorithm>

#include "router/signals/prototypes.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

class ReaskSignals : public NamedSignals<config::ReaskSignal> {
 public:
  ReaskSignals(const std::vector<config::ReaskSignal>& signals, double exponent)
      : NamedSignals(signals), exponent_(exponent) {}
  std::string_view type() const override { return "reask"; }
  Needs needs() const override { return Needs::kEmbedder; }
  Wording wording() const override { return {"least similarity", ""}; }
  std::optional<double> threshold(size_t signal) const override {
    return signals_[signal].threshold;
  }
  bool is_moot(const request::ChatRequest& request) const override {
    return request.user_texts().size() < 2;
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>&) const override {
    const std::vector<std::string_view> turns = inputs.request().user_texts();
    if (turns.front().data() != inputs.request().user_text().data()) return {};
    size_t furthest = 0;
    for (size_t i = 0; i < signals_.size(); ++i) {
      const size_t lookback = lookback_of(i);
      if (turns.size() <= lookback) continue;
      double least = 1;
      for (size_t turn = 1; turn <= lookback; ++turn) {
        SIGNALBOX_TRY(const std::span<const float> current, embedding(inputs, turns.front()));
        SIGNALBOX_TRY(const std::span<const float> earlier, embedding(inputs, turns[turn]));
        const double above = exponent_ == 1 ? cosine(current, earlier)
                                            : beyond_language(cosine(current, earlier),
                                                              unrelated_similarity(turns.front()),
                                                              unrelated_similarity(turns[turn]));
        least = std::min(least, similarity(above, exponent_));
      }
      out[i].score = least;
      out[i].matched = least >= signals_[i].threshold;
      if (!out[i].matched) continue;
      out[i].confidence = std::clamp(least, 0.0, 1.0);
      furthest = std::max(furthest, lookback);
    }
    for (size_t i = 0; i < signals_.size(); ++i) {
      if (lookback_of(i) < furthest) out[i] = {.score = out[i].score};
    }
    return {};
  }

 private:
  double exponent_;

  size_t lookback_of(size_t signal) const {
    return std::max<size_t>(signals_[signal].lookback_turns, 1);
  }

  Result<std::span<const float>> embedding(Inputs& inputs, std::string_view text) const {
    return inputs.embedding(inputs.digest(type(), text));
  }
};

}  // namespace

SignalTypeResult reask_signals(const std::vector<config::ReaskSignal>& signals, double exponent) {
  return std::make_unique<ReaskSignals>(signals, exponent);
}

}  // namespace signalbox::signals
