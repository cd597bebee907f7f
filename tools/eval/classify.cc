// Evaluates classifiers: the quality of each label and, if one class is to be found, the two-class
// view of the same scores.

#include <algorithm>
#include <cmath>
#include <memory>

#include "tools/eval/run.h"

namespace signalbox::tools {
namespace {

struct Scored {
  const std::vector<std::string>& labels;
  std::vector<int32_t> truths = {};     // (rows)
  std::vector<int32_t> predicted = {};  // (rows)
  std::vector<float> scores = {};       // (rows, labels)
  std::vector<uint8_t> positive = {};   // (labels)

  size_t rows() const { return truths.size(); }
  std::span<const float> row(size_t r) const {
    return std::span(scores).subspan(r * labels.size(), labels.size());
  }
  double best(size_t r) const { return row(r)[predicted[r]]; }
  double positive_score(size_t r) const {
    double out = 0;
    for (size_t i = 0; i < labels.size(); ++i) out += positive[i] != 0 ? row(r)[i] : 0;
    return out;
  }
  bool is_positive(size_t r) const { return positive[truths[r]] != 0; }
};

std::string joined(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

Result<std::vector<int32_t>> truths_of(const LabelledRows& rows,
                                       const std::vector<std::string>& labels) {
  std::vector<int32_t> out;
  for (size_t r = 0; r < rows.rows.size(); ++r) {
    const auto at = std::ranges::find(labels, rows.rows[r].label);
    if (at == labels.end()) {
      return fail(Code::kInvalid, "{}: the model has no label \"{}\" (known: {})", rows.place(r),
                  rows.rows[r].label, joined(labels));
    }
    out.push_back(static_cast<int32_t>(at - labels.begin()));
  }
  return out;
}

Result<std::vector<uint8_t>> positive_of(std::span<const std::string> positive,
                                         const std::vector<std::string>& labels) {
  std::vector<uint8_t> out(labels.size());
  for (const std::string& each : positive) {
    const auto at = std::ranges::find(labels, each);
    if (at == labels.end()) {
      return fail(Code::kInvalid, "positive label \"{}\": the model has no such label (known: {})",
                  each, joined(labels));
    }
    out[at - labels.begin()] = 1;
  }
  if (!positive.empty() && std::ranges::count(out, 1) == std::ssize(out))
    return fail(Code::kInvalid,
                "positive labels: these are all labels of the model, so no row can be negative");
  return out;
}

Result<void> answer_row(const Subject& subject, const LabelledRow& row, size_t r, Scored& out) {
  SIGNALBOX_TRY(const std::vector<float> scores, classify_row(subject, row));
  if (!std::ranges::all_of(scores, [](float x) { return std::isfinite(x); }))
    return fail(Code::kCorrupt, "{}: the scores are not finite", subject.name);
  std::ranges::copy(scores, out.scores.begin() + static_cast<int64_t>(r * out.labels.size()));
  const auto best = std::ranges::max_element(scores);
  out.predicted[r] = static_cast<int32_t>(best - scores.begin());
  return {};
}

AtThreshold at_threshold(const Scored& scored, double threshold, bool two_classes) {
  AtThreshold out;
  out.threshold = threshold;
  out.positive.label = "positive";
  for (size_t r = 0; r < scored.rows(); ++r) {
    if (scored.best(r) >= threshold) {
      ++out.rows;
      out.hits += scored.predicted[r] == scored.truths[r];
    }
    if (!two_classes) continue;
    const bool found = scored.positive_score(r) >= threshold;
    out.positive.support += scored.is_positive(r);
    out.positive.predicted += found;
    out.positive.hits += found && scored.is_positive(r);
    out.negatives += !scored.is_positive(r);
  }
  return out;
}

std::vector<FileShare> by_file(const Scored& scored, const LabelledRows& rows,
                               const Evaluated& evaluated, const EvalOptions& options) {
  std::vector<FileShare> out(rows.files.size());
  for (size_t r = 0; r < scored.rows(); ++r) {
    FileShare& file = out[rows.rows[r].file];
    ++file.rows;
    file.hits += evaluated.hits[r];
    if (!evaluated.two) continue;
    const double score = scored.positive_score(r);
    file.flagged +=
        options.threshold ? score >= *options.threshold : scored.positive[scored.predicted[r]] != 0;
    file.flagged_at_point += score >= evaluated.two->point.threshold;
  }
  return out;
}

TwoClasses two_classes(const Scored& scored, const EvalOptions& options,
                       std::vector<Figure>& figures) {
  std::vector<double> scores;
  std::vector<uint8_t> positives;
  for (size_t r = 0; r < scored.rows(); ++r) {
    scores.push_back(scored.positive_score(r));
    positives.push_back(scored.is_positive(r) ? 1 : 0);
  }
  const auto roc = std::make_shared<const Roc>(scores, positives);
  const double share_max = options.false_positives;
  figures.push_back({"auc", [roc](Weights weights) { return roc->area(weights); }});
  figures.push_back({"recall_at_false_positives", [roc, share_max](Weights weights) {
                       return roc->at_false_positives(share_max, weights).recall;
                     }});
  const std::vector<uint32_t> once(scored.rows(), 1);
  return {.positive = options.positive,
          .rows = std::ranges::count(positives, 1),
          .area = roc->area(once),
          .share_max = share_max,
          .point = roc->at_false_positives(share_max, once)};
}

}  // namespace

Result<void> check_classifier(const Subject& subject, const LabelledRows& rows,
                              const EvalOptions& options) {
  const engine::HeadInfo& head = subject.model->heads()[subject.head];
  if (head.scores == engine::Scores::kRaw) {
    return fail(Code::kUnsupported, "{}: its head returns raw scores, not probabilities",
                subject.name);
  }
  SIGNALBOX_TRY_VOID(truths_of(rows, head.labels));
  SIGNALBOX_TRY_VOID(positive_of(options.positive, head.labels));
  return {};
}

Result<Evaluated> evaluate_classifier(const Subject& subject, const LabelledRows& rows,
                                      const EvalOptions& options) {
  SIGNALBOX_TRY_VOID(check_classifier(subject, rows, options));
  const engine::HeadInfo& head = subject.model->heads()[subject.head];
  Scored scored{.labels = head.labels};
  SIGNALBOX_TRY(scored.truths, truths_of(rows, head.labels));
  SIGNALBOX_TRY(scored.positive, positive_of(options.positive, head.labels));
  scored.predicted.resize(scored.rows());
  scored.scores.resize(scored.rows() * head.labels.size());
  Evaluated out;
  out.model = subject.name;
  out.dtype = subject.dtype;
  SIGNALBOX_TRY(out.times, timed(rows, options, [&](size_t r) {
                  return answer_row(subject, rows.rows[r], r, scored);
                }));
  out.quality = classifier_quality(head.labels, scored.truths, scored.scores);
  for (size_t r = 0; r < scored.rows(); ++r) {
    out.answers.push_back(head.labels[scored.predicted[r]]);
    out.hits.push_back(scored.predicted[r] == scored.truths[r] ? 1 : 0);
  }
  std::vector<Figure> figures{{"macro_f1", [&](Weights weights) {
                                 return macro_f1(scored.truths, scored.predicted,
                                                 head.labels.size(), weights);
                               }}};
  if (!options.positive.empty()) out.two = two_classes(scored, options, figures);
  if (options.threshold)
    out.at_threshold = at_threshold(scored, *options.threshold, out.two.has_value());
  out.files = by_file(scored, rows, out, options);
  out.figures = compute_figures(figures, scored.rows(), options.seed);
  return out;
}

}  // namespace signalbox::tools
