// Signals of type preference: the preference with the nearest examples matches, if it reaches its
// threshold and is far enough ahead of the next.

#include <algorithm>

#include "router/signals/prototypes.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr double kDefaultSimilarity = 0.5;

class PreferenceSignals : public NamedSignals<config::PreferenceSignal> {
 public:
  using NamedSignals::NamedSignals;

  Result<void> embed(const engine::TextEmbedder& embedder,
                     const config::PrototypeScoring& scoring) {
    margin_least_ = scoring.margin_threshold;
    is_plain_ = scoring.similarity_exponent == 1;
    std::vector<const std::vector<std::string>*> examples;
    descriptions_.reserve(signals_.size());
    for (const config::PreferenceSignal& signal : signals_) {
      descriptions_.push_back({signal.description});
      const bool described = signal.examples.empty() && !signal.description.empty();
      examples.push_back(described ? &descriptions_.back() : &signal.examples);
    }
    SIGNALBOX_TRY(banks_, build_banks(embedder, examples, scoring));
    return {};
  }

  std::string_view type() const override { return "preference"; }
  Needs needs() const override { return Needs::kEmbedder; }
  Wording wording() const override { return {"score", "nearest"}; }
  std::optional<double> threshold(size_t signal) const override {
    const double own = signals_[signal].threshold;
    return own > 0 ? own : kDefaultSimilarity;
  }
  std::string_view unavailable(size_t signal) const override {
    const config::PreferenceSignal& each = signals_[signal];
    return each.examples.empty() && each.description.empty()
               ? "it has neither examples nor a description"
               : "";
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    SIGNALBOX_TRY(const std::span<const float> query,
                  inputs.embedding(inputs.digest(type(), text)));
    const double unrelated = is_plain_ ? 0 : unrelated_similarity(text);
    size_t best = signals_.size();
    double second = 0;
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const PrototypeBank::Score score = banks_[i].score(query, unrelated);
      out[i].score = score.score;
      if (!score.nearest.empty()) evidence.push_back({i, score.nearest, score.best});
      if (score.nearest.empty()) continue;
      if (best == signals_.size() || score.score > out[best].score) {
        if (best != signals_.size()) second = std::max(second, out[best].score);
        best = i;
      } else {
        second = std::max(second, score.score);
      }
    }
    if (best == signals_.size() || out[best].score < *threshold(best)) return {};
    if (margin_least_ > 0 && out[best].score - second < margin_least_) return {};
    out[best].matched = true;
    out[best].confidence = std::clamp(out[best].score, 0.0, 1.0);
    return {};
  }

 private:
  std::vector<std::vector<std::string>> descriptions_;
  std::vector<PrototypeBank> banks_;  // (signals)
  double margin_least_ = 0;
  bool is_plain_ = true;
};

}  // namespace

SignalTypeResult preference_signals(const std::vector<config::PreferenceSignal>& signals,
                                    const config::PrototypeScoring& scoring,
                                    const engine::TextEmbedder& embedder) {
  auto made = std::make_unique<PreferenceSignals>(signals);
  SIGNALBOX_TRY_VOID(made->embed(embedder, scoring));
  return made;
}

}  // namespace signalbox::signals
