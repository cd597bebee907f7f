// Signals of type complexity. Each has three readings, hard, medium and easy, one of which matches.

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ascii.h"
#include "router/signals/prototypes.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

constexpr std::array<std::string_view, 3> kLevels{":hard", ":medium", ":easy"};

class LevelSignals : public SignalType {
 public:
  explicit LevelSignals(const std::vector<config::ComplexitySignal>& signals) : signals_(signals) {
    for (const config::ComplexitySignal& signal : signals) {
      for (const std::string_view level : kLevels)
        names_.push_back(fmt::format("{}{}", signal.name, level));
    }
  }
  std::string_view type() const override { return "complexity"; }
  size_t size() const override { return names_.size(); }
  std::string_view name(size_t signal) const override { return names_[signal]; }

 protected:
  const std::vector<config::ComplexitySignal>& signals_;

 private:
  std::vector<std::string> names_;
};

class ComplexitySignals : public LevelSignals {
 public:
  using LevelSignals::LevelSignals;

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

  Needs needs() const override { return Needs::kEmbedder; }
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
  std::vector<PrototypeBank> banks_;  // (signals, 2): hard, easy
};

class RatedComplexity : public LevelSignals {
 public:
  RatedComplexity(const std::vector<config::ComplexitySignal>& signals, ModelChoice server,
                  bool is_scored)
      : LevelSignals(signals), server_(std::move(server)), is_scored_(is_scored) {}

  Needs needs() const override { return Needs::kServer; }
  Wording wording() const override { return {is_scored_ ? "score" : "probability", "level"}; }
  std::string_view server(size_t) const override { return server_.server; }
  std::string_view unavailable(size_t) const override { return server_.why; }
  bool is_moot(const request::ChatRequest& request) const override {
    const std::string_view text = request.user_text();
    return std::all_of(text.begin(), text.end(), ascii::is_space);
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    if (server_.model == nullptr) return {};
    const std::string_view text = inputs.digest(type(), inputs.request().user_text());
    SIGNALBOX_TRY(const auto head_scores, inputs.classes(*server_.model, text));
    const std::vector<float>& scores = head_scores[server_.head];
    if (scores.empty()) return {};
    const auto best =
        static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    for (size_t s = 0; s < signals_.size(); ++s) {
      const size_t level = is_scored_ ? level_of(signals_[s], scores.front()) : best;
      for (size_t l = 0; l < kLevels.size(); ++l) {
        Reading& reading = out[kLevels.size() * s + l];
        reading.score = scores[is_scored_ ? 0 : l];
        reading.matched = l == level;
        if (!reading.matched) continue;
        reading.confidence = is_scored_ ? 1 : std::clamp(reading.score, 0.0, 1.0);
        evidence.push_back(
            {static_cast<uint32_t>(kLevels.size() * s + l), kLevels[l].substr(1), reading.score});
      }
    }
    return {};
  }

 private:
  static size_t level_of(const config::ComplexitySignal& signal, double score) {
    const bool is_hard =
        signal.hard_below ? score < *signal.hard_below : score > *signal.hard_above;
    const bool is_easy =
        signal.hard_below ? score > *signal.easy_above : score < *signal.easy_below;
    return is_hard ? 0 : is_easy ? 2 : 1;
  }

  const ModelChoice server_;
  const bool is_scored_;
};

}  // namespace

SignalTypeResult rated_complexity_signals(const std::vector<config::ComplexitySignal>& signals,
                                          ModelChoice server, bool is_scored) {
  return std::make_unique<RatedComplexity>(signals, std::move(server), is_scored);
}

SignalTypeResult complexity_signals(const std::vector<config::ComplexitySignal>& signals,
                                    const config::PrototypeScoring& scoring,
                                    const engine::TextEmbedder& embedder) {
  auto made = std::make_unique<ComplexitySignals>(signals);
  SIGNALBOX_TRY_VOID(made->embed(embedder, scoring));
  return made;
}

}  // namespace signalbox::signals
