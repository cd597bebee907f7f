// Signals of type complexity. Each has three readings, hard, medium and easy, one of which matches.

#include <array>
#include <cmath>

#include "router/signals/prototypes.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr std::array<std::string_view, 3> kLevels{":hard", ":medium", ":easy"};

class ComplexitySignals : public SignalType {
 public:
  explicit ComplexitySignals(const std::vector<config::ComplexitySignal>& signals)
      : signals_(signals) {
    for (const config::ComplexitySignal& signal : signals) {
      for (const std::string_view level : kLevels)
        names_.push_back(fmt::format("{}{}", signal.name, level));
    }
  }

  Result<void> embed(const engine::TextEmbedder& embedder,
                     const config::PrototypeScoring& scoring) {
    std::vector<const std::vector<std::string>*> examples;
    for (const config::ComplexitySignal& signal : signals_) {
      examples.push_back(&signal.hard.candidates);
      examples.push_back(&signal.easy.candidates);
    }
    SIGNALBOX_TRY(banks_, build_banks(embedder, examples, scoring));
    return {};
  }

  std::string_view type() const override { return "complexity"; }
  Needs needs() const override { return Needs::kEmbedder; }
  size_t size() const override { return names_.size(); }
  std::string_view name(size_t signal) const override { return names_[signal]; }
  Wording wording() const override { return {"margin", "nearest"}; }
  std::string_view unavailable(size_t signal) const override {
    const config::ComplexitySignal& config = signals_[signal / kLevels.size()];
    const bool is_empty = config.hard.candidates.empty() && config.easy.candidates.empty();
    return is_empty ? "it has no examples" : "";
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    const std::string_view text = inputs.request().user_text();
    if (text.empty()) return {};
    SIGNALBOX_TRY(const std::span<const float> query,
                  inputs.embedding(inputs.digest(type(), text)));
    for (size_t s = 0; s < signals_.size(); ++s) {
      const PrototypeBank::Score hard = banks_[2 * s].score(query);
      const PrototypeBank::Score easy = banks_[2 * s + 1].score(query);
      const double margin = hard.score - easy.score;
      const config::ComplexitySignal& signal = signals_[s];
      const size_t level = margin > signal.hard_above.value_or(signal.threshold)    ? 0
                           : margin < signal.easy_below.value_or(-signal.threshold) ? 2
                                                                                    : 1;
      for (size_t l = 0; l < kLevels.size(); ++l) out[kLevels.size() * s + l].score = margin;
      const auto matched = static_cast<uint32_t>(kLevels.size() * s + level);
      out[matched].matched = true;
      out[matched].confidence = std::min(std::abs(margin), 1.0);
      const std::string_view nearest = margin > 0 ? hard.nearest : easy.nearest;
      if (!nearest.empty()) evidence.push_back({matched, nearest, margin});
    }
    return {};
  }

 private:
  const std::vector<config::ComplexitySignal>& signals_;
  std::vector<std::string> names_;
  std::vector<PrototypeBank> banks_;  // (signals, 2): hard, easy
};

}  // namespace

SignalTypeResult complexity_signals(const std::vector<config::ComplexitySignal>& signals,
                                    const config::PrototypeScoring& scoring,
                                    const engine::TextEmbedder& embedder) {
  auto made = std::make_unique<ComplexitySignals>(signals);
  SIGNALBOX_TRY_VOID(made->embed(embedder, scoring));
  return made;
}

}  // namespace signalbox::signals
