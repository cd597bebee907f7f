// Signals of type decision: typed questions that a decision model on a server answers. Each
// question is a group of its own. A choice has one signal for each option, NAME:KEY, and one for
// the option that is chosen, NAME, whose score projections read.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/ascii.h"
#include "router/routing/decision/fact.h"
#include "router/signals/types.h"

namespace signalbox::signals {
namespace {

using Kind = config::QuestionSignal::Kind;

// Scores are single precision, and 0.7 must reach a bound of 0.7.
double rounded(double score) {
  constexpr double kSteps = 1e6;
  return std::round(score * kSteps) / kSteps;
}

class QuestionSignals : public SignalType {
 public:
  QuestionSignals(const config::QuestionSignal& signal, ModelChoice choice)
      : signal_(signal), choice_(std::move(choice)), names_{signal.name} {
    if (signal.question.kind != Kind::kChoice) return;
    for (const config::QuestionSignal::Option& option : signal.question.choices)
      names_.push_back(fmt::format("{}:{}", signal.name, option.key));
  }

  std::string_view type() const override { return "decision"; }
  Needs needs() const override { return Needs::kServer; }
  size_t size() const override { return names_.size(); }
  std::string_view name(size_t signal) const override { return names_[signal]; }
  Wording wording() const override {
    return {signal_.question.kind == Kind::kScore ? "level" : "probability", "answer"};
  }
  std::string_view server(size_t) const override { return choice_.server; }
  std::string_view unavailable(size_t) const override { return choice_.why; }
  bool is_moot(const request::ChatRequest& request) const override {
    const std::string_view text = request.user_text();
    return std::all_of(text.begin(), text.end(), ascii::is_space);
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    if (choice_.model == nullptr) return {};
    const std::string_view text = inputs.digest(type(), inputs.request().user_text());
    SIGNALBOX_TRY(const auto head_scores, inputs.classes(*choice_.model, text));
    const std::vector<float>& scores = head_scores[choice_.head];
    if (scores.empty()) return {};
    const auto best =
        static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    read(scores, best, out);
    for (uint32_t i = 0; i < out.size(); ++i) {
      if (out[i].matched) evidence.push_back({i, choice_.labels[best], scores[best]});
    }
    return {};
  }

 private:
  void read(const std::vector<float>& scores, size_t best, std::span<Reading> out) const {
    const auto& predicate = signal_.predicate;
    const double probability = rounded(scores[best]);
    Reading& whole = out.front();
    switch (signal_.question.kind) {
      case Kind::kYesNo:
        whole.score = rounded(scores.front());
        whole.matched = predicate ? decision::holds(*predicate, whole.score) : whole.score >= 0.5;
        whole.confidence = whole.matched ? whole.score : 0;
        return;
      case Kind::kScore:
        whole.score = expected_level(scores);
        whole.matched = predicate && decision::holds(*predicate, whole.score);
        whole.confidence = whole.matched ? probability : 0;
        return;
      case Kind::kChoice:
      case Kind::kOther:
        break;
    }
    whole = {.matched = true, .confidence = probability, .score = probability};
    for (size_t i = 0; i + 1 < out.size(); ++i) {
      Reading& option = out[i + 1];
      option.score = rounded(scores[i]);
      option.matched = i == best && (!predicate || decision::holds(*predicate, option.score));
      option.confidence = option.matched ? option.score : 0;
    }
  }

  // The probabilities need not add up to exactly 1.
  static double expected_level(const std::vector<float>& scores) {
    double sum = 0, weighted = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      sum += scores[i];
      weighted += static_cast<double>(i) * scores[i];
    }
    return sum > 0 ? rounded(weighted / sum) : 0;
  }

  const config::QuestionSignal& signal_;
  const ModelChoice choice_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<const SignalType> question_signals(const config::QuestionSignal& signal,
                                                   ModelChoice choice) {
  return std::make_unique<QuestionSignals>(signal, std::move(choice));
}

}  // namespace signalbox::signals
