// Types of personal data, never the data: what is found is named by its type in evidence.

#include <algorithm>
#include <map>

#include "router/signals/types.h"
#include "router/signals/windows.h"

namespace signalbox::router {
namespace {

constexpr double kDefaultThreshold = 0.9;

std::string upper_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// The type of a label such as "B-PERSON".
std::string type_of(std::string_view label) {
  const bool tagged = label.size() > 2 && label[1] == '-' &&
                      std::string_view("BIESLU").find(label[0]) != std::string_view::npos;
  return upper_ascii(label.substr(tagged ? 2 : 0));
}

class Signals : public NamedSignals<config::PiiSignal> {
 public:
  Signals(const std::vector<config::PiiSignal>& signals, double threshold, ModelChoice classifier)
      : NamedSignals(signals),
        threshold_(threshold > 0 ? threshold : kDefaultThreshold),
        classifier_(std::move(classifier)) {
    for (const config::PiiSignal& signal : signals) {
      std::vector<std::string>& allowed = allowed_.emplace_back();
      for (const std::string& type : signal.pii_types_allowed) allowed.push_back(upper_ascii(type));
    }
    if (classifier_.model == nullptr) return;
    const auto& own = classifier_.model->heads()[classifier_.head].labels;
    for (size_t i = 0; i < classifier_.labels.size(); ++i) {
      const std::string type = type_of(classifier_.labels[i]);
      const auto known = std::find(types_.begin(), types_.end(), type);
      type_of_own_.emplace(type_of(own[i]), static_cast<size_t>(known - types_.begin()));
      if (known == types_.end()) types_.push_back(type);
    }
  }

  std::string_view type() const override { return "pii"; }
  Needs needs() const override { return Needs::kClassifier; }
  Wording wording() const override { return {"score", "found"}; }
  std::string_view unavailable(size_t) const override { return classifier_.why; }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    std::vector<double> now(types_.size(), 0), ever(types_.size(), 0);
    SIGNALBOX_TRY_VOID(find({inputs.request().user_text()}, inputs, now));
    const bool history = std::any_of(signals_.begin(), signals_.end(),
                                     [](const auto& signal) { return signal.include_history; });
    if (history) SIGNALBOX_TRY_VOID(find(inputs.request().texts(), inputs, ever));
    for (uint32_t i = 0; i < signals_.size(); ++i) {
      const std::vector<double>& found = signals_[i].include_history ? ever : now;
      const double threshold = signals_[i].threshold > 0 ? signals_[i].threshold : threshold_;
      for (size_t t = 0; t < types_.size(); ++t) {
        const auto& allowed = allowed_[i];
        if (std::find(allowed.begin(), allowed.end(), types_[t]) != allowed.end()) continue;
        out[i].score = std::max(out[i].score, found[t]);
        if (found[t] < threshold) continue;
        out[i].matched = true;
        out[i].confidence = std::max(out[i].confidence, std::min(found[t], 1.0));
        evidence.push_back({i, types_[t], found[t]});
      }
    }
    return {};
  }

 private:
  // Raises the score of each type to that of its surest span.
  Result<void> find(const std::vector<std::string_view>& texts, Inputs& inputs,
                    std::vector<double>& scores) const {
    for (const std::string_view window : windows_of(texts, window_bytes(*classifier_.model))) {
      SIGNALBOX_TRY(const auto answers, inputs.answers(*classifier_.model, window));
      for (const engine::Entity& entity : answers[classifier_.head].entities) {
        const auto type = type_of_own_.find(upper_ascii(entity.type));
        if (type == type_of_own_.end()) {
          return fail(Code::kCorrupt, "the model marks \"{}\", which is none of its labels",
                      entity.type);
        }
        double& score = scores[type->second];
        score = std::max(score, static_cast<double>(entity.score));
      }
    }
    return {};
  }

  double threshold_;
  ModelChoice classifier_;
  std::vector<std::vector<std::string>> allowed_;  // (signals)
  std::vector<std::string> types_;                 // as pii_mapping_path names them, or the model
  std::map<std::string, size_t> type_of_own_;      // index in types_, by the model's own name
};

}  // namespace

MadeSignals pii_signals(const std::vector<config::PiiSignal>& signals, double threshold,
                        ModelChoice classifier) {
  return std::make_unique<Signals>(signals, threshold, std::move(classifier));
}

}  // namespace signalbox::router
