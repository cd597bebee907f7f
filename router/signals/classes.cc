// Signals that stand for classes of a sequence classifier: domains, need for fact checking, user
// feedback, kind of reply, and classifiers that the configuration defines. They differ only in the
// classes that each signal stands for.

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "router/config/reader.h"
#include "router/models/stand_ins.h"
#include "router/signals/types.h"
#include "router/text/windows.h"

namespace signalbox::signals {
namespace {

// Conditions write the classes of a classifier of one's own, so a mistake there is likely.
std::string lack_of_class(std::string_view wanted, const std::vector<std::string>& labels) {
  constexpr size_t kNamedMax = 100;
  if (labels.size() > kNamedMax) return "the classifier has no such class";
  const std::vector<std::string_view> known(labels.begin(), labels.end());
  const std::string_view meant = config::nearest(wanted, known);
  return fmt::format("the classifier has no class \"{}\" ({})", wanted,
                     meant.empty() ? fmt::format("known: {}", config::join(known))
                                   : fmt::format("did you mean \"{}\"?", meant));
}

class ClassSignals : public SignalType {
 public:
  ClassSignals(ClassTask task, ModelChoice classifier)
      : task_(std::move(task)), classifier_(std::move(classifier)) {
    const auto find = [this](const std::vector<std::string>& classes, const auto& name_of) {
      std::vector<size_t> out;
      for (size_t i = 0; i < classifier_.labels.size(); ++i) {
        const std::string label = name_of(classifier_.labels[i]);
        if (std::ranges::any_of(classes, [&](const auto& each) { return name_of(each) == label; }))
          out.push_back(i);
      }
      return out;
    };
    for (const ClassTask::Signal& signal : task_.signals) {
      std::vector<size_t> exact =
          find(signal.classes, [](const std::string& name) { return ascii::snake_case(name); });
      classes_.push_back(exact.empty() ? find(signal.classes, models::plain_label)
                                       : std::move(exact));
      why_.push_back(classes_.back().empty() ? lack_of(signal) : "");
    }
  }

  std::string_view type() const override { return task_.type; }
  Needs needs() const override {
    return classifier_.calls_server() ? Needs::kServer : Needs::kClassifier;
  }
  size_t size() const override { return task_.signals.size(); }
  std::string_view name(size_t signal) const override { return task_.signals[signal].name; }
  Wording wording() const override { return {"probability", "class"}; }
  std::string_view stand_in() const override { return classifier_.stand_in; }
  std::string_view server(size_t) const override { return classifier_.server; }
  std::optional<double> threshold(size_t signal) const override {
    const double own = task_.signals[signal].threshold;
    const double least = own > 0 ? own : task_.threshold;
    return least > 0 ? std::optional(least) : std::nullopt;
  }
  bool is_moot(const request::ChatRequest& request) const override {
    const std::string_view text = request.user_text();
    return std::all_of(text.begin(), text.end(), ascii::is_space) ||
           (task_.needs_answer && !has_answer(request));
  }
  std::string_view unavailable(size_t signal) const override {
    // A signal without classes never matches, which is certain without a model.
    if (task_.signals[signal].classes.empty()) return "";
    if (!classifier_.why.empty()) return classifier_.why;
    return why_[signal];
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    if (classifier_.model == nullptr) return {};
    const std::string_view text = inputs.digest(type(), inputs.request().user_text());
    SIGNALBOX_TRY(const auto head_scores, inputs.classes(*classifier_.model, text));
    const std::vector<float>& scores = head_scores[classifier_.head];
    if (scores.empty()) return {};
    const auto best =
        static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    for (uint32_t i = 0; i < task_.signals.size(); ++i) {
      const std::vector<size_t>& classes = classes_[i];
      for (const size_t c : classes) out[i].score = std::max<double>(out[i].score, scores[c]);
      const bool is_best = std::find(classes.begin(), classes.end(), best) != classes.end();
      // Without a score there is no best class. Threshold and score are rounded in the same way, so
      // a score of 0.9 reaches a threshold of 0.9.
      const auto least = static_cast<float>(threshold(i).value_or(0));
      const bool sure = scores[best] > 0 && scores[best] >= least;
      out[i].matched = sure ? is_best : task_.signals[i].name == task_.fallback;
      if (!out[i].matched) continue;
      out[i].confidence = std::clamp<double>(out[i].score, 0.0, 1.0);
      evidence.push_back({i, classifier_.labels[best], scores[best]});
    }
    return {};
  }

 private:
  static bool has_answer(const request::ChatRequest& request) {
    return std::any_of(request.messages.begin(), request.messages.end(),
                       [](const request::ChatMessage& message) {
                         return message.role == "assistant" && !message.text.empty();
                       });
  }

  std::string lack_of(const ClassTask::Signal& signal) const {
    if (task_.type != "classifier" || signal.classes.empty())
      return "the classifier has no such class";
    return lack_of_class(signal.classes.front(), classifier_.labels);
  }

  ClassTask task_;
  ModelChoice classifier_;
  std::vector<std::vector<size_t>> classes_;  // (signals): indices of labels
  std::vector<std::string> why_;              // (signals): "": the classifier has its classes
};

// The labels are independent, so any number of them may match. The highest score of a window
// counts, because one sentence is enough, and a mean would hide it in padding.
class LabelSignals : public SignalType {
 public:
  struct Label {
    std::string name;             // of the signal
    std::optional<size_t> index;  // in the scores; nullopt: the classifier has no such label
    std::string why;              // "" if it has
    float least = 0;
  };
  LabelSignals(std::vector<Label> labels, ModelChoice model)
      : labels_(std::move(labels)), model_(std::move(model)) {}

  std::string_view type() const override { return "classifier"; }
  Needs needs() const override { return Needs::kClassifier; }
  size_t size() const override { return labels_.size(); }
  std::string_view name(size_t signal) const override { return labels_[signal].name; }
  Wording wording() const override { return {"score", "label"}; }
  std::optional<double> threshold(size_t signal) const override { return labels_[signal].least; }
  std::string_view unavailable(size_t signal) const override { return labels_[signal].why; }
  bool is_moot(const request::ChatRequest& request) const override {
    const std::string_view text = request.user_text();
    return std::all_of(text.begin(), text.end(), ascii::is_space);
  }

  Result<void> evaluate(Inputs& inputs, std::span<Reading> out,
                        std::vector<Evidence>& evidence) const override {
    SIGNALBOX_TRY(const text::Windows windows,
                  text::windows_of({inputs.request().user_text()}, *model_.model));
    SIGNALBOX_TRY_VOID(inputs.answer_ahead(*model_.model, windows.pieces));
    std::vector<float> best(model_.labels.size());
    for (const std::string_view window : windows.pieces) {
      SIGNALBOX_TRY(const auto answers, inputs.answers(*model_.model, window));
      const std::vector<float>& scores = answers[model_.head].scores;
      for (size_t i = 0; i < scores.size(); ++i) best[i] = std::max(best[i], scores[i]);
    }
    for (uint32_t i = 0; i < labels_.size(); ++i) {
      if (!labels_[i].index) continue;
      const float score = best[*labels_[i].index];
      out[i].score = score;
      out[i].matched = score >= labels_[i].least;
      out[i].whole = out[i].matched || windows.whole;
      if (!out[i].matched) continue;
      out[i].confidence = std::min<double>(score, 1);
      evidence.push_back({i, model_.labels[*labels_[i].index], score});
    }
    return {};
  }

 private:
  const std::vector<Label> labels_;
  const ModelChoice model_;
};

}  // namespace

std::unique_ptr<const SignalType> class_signals(ClassTask task, ModelChoice classifier) {
  return std::make_unique<ClassSignals>(std::move(task), std::move(classifier));
}

SignalTypeResult label_signals(std::string_view classifier, const std::set<std::string>& names,
                               const models::LabelThresholds& thresholds, ModelChoice model) {
  if (model.model->heads()[model.head].scores != engine::Scores::kSigmoid)
    return fail(Code::kInvalid,
                "the operating point is for independent scores, and the scores of the model sum to "
                "1; if its labels are independent, its config.json needs \"problem_type\": "
                "\"multi_label_classification\"");
  const bool is_nameless = std::ranges::all_of(
      model.labels, [](const std::string& label) { return label.starts_with("LABEL_"); });
  if (is_nameless && model.labels.size() == thresholds.labels.size())
    model.labels = thresholds.labels;
  if (model.labels != thresholds.labels)
    return fail(Code::kInvalid, "the operating point is for the labels {}, and the model has {}",
                fmt::join(thresholds.labels, ", "), fmt::join(model.labels, ", "));
  std::vector<LabelSignals::Label> labels;
  for (const std::string& name : names) {
    LabelSignals::Label& label = labels.emplace_back();
    label.name = fmt::format("{}:{}", classifier, name);
    auto found = std::ranges::find(model.labels, name);
    if (found == model.labels.end())
      found = std::ranges::find(model.labels, ascii::snake_case(name), ascii::snake_case);
    if (found == model.labels.end()) {
      label.why = lack_of_class(name, model.labels);
      continue;
    }
    label.index = static_cast<size_t>(found - model.labels.begin());
    label.least = thresholds.least[*label.index];
  }
  return std::make_unique<LabelSignals>(std::move(labels), std::move(model));
}

}  // namespace signalbox::signals
