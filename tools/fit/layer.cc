// Scales the vectors to a mean square of 1, so that penalties have the same meaning for every
// trunk. The layer absorbs the scale at the end.

#include "tools/fit/layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace signalbox::tools {
namespace {

// For vectors with a mean square of 1; the strongest first.
constexpr std::array kPenalties = {0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5};
constexpr int kWorseMax = 2;  // stop after this many penalties in a row without improvement

double rms(const Vectors& vectors) {
  double sum = 0;
  for (const float x : vectors.x) sum += double{x} * x;
  return vectors.x.empty() || sum == 0 ? 1 : std::sqrt(sum / static_cast<double>(vectors.x.size()));
}

void scale(Vectors& vectors, double by) {
  for (float& x : vectors.x) x = static_cast<float>(x * by);
}

void append(const Vectors& from, Vectors& to) {
  to.dim = from.dim;
  to.x.insert(to.x.end(), from.x.begin(), from.x.end());
  to.labels.insert(to.labels.end(), from.labels.begin(), from.labels.end());
  to.folds.insert(to.folds.end(), from.folds.begin(), from.folds.end());
}

std::vector<double> balance(const Vectors& vectors, int32_t classes) {
  std::vector<double> counts(classes);
  for (const int32_t label : vectors.labels) counts[label] += 1;
  const auto present =
      static_cast<double>(std::ranges::count_if(counts, [](double n) { return n > 0; }));
  for (double& count : counts) {
    if (count > 0) count = static_cast<double>(vectors.labels.size()) / (present * count);
  }
  return counts;
}

// The rows to learn from, and the rows to test on.
struct Fold {
  Vectors train, test;
  std::unique_ptr<const Features> features = {};  // of `train`
  LinearClassifier layer = {};
};

// Returns the rows in the fold, or those outside it.
Vectors part_of(const Vectors& all, int32_t fold, bool is_in) {
  Vectors out{.dim = all.dim, .x = {}, .labels = {}, .folds = {}};
  for (size_t r = 0; r < all.labels.size(); ++r) {
    if ((all.folds[r] == fold) != is_in) continue;
    const auto row = all.x.begin() + static_cast<int64_t>(r) * all.dim;
    out.x.insert(out.x.end(), row, row + all.dim);
    out.labels.push_back(all.labels[r]);
  }
  return out;
}

struct TestLogits {
  std::vector<float> logits;
  std::vector<int32_t> labels;
};

// Computes the logits of the test rows. Skips rows whose label does not occur in the training rows,
// which can happen for a rare label.
TestLogits test_logits(const Fold& fold, const kernels::Table& kernels, int32_t classes) {
  TestLogits out;
  if (fold.test.labels.empty()) return out;
  std::vector<bool> trained(classes);
  for (const int32_t label : fold.train.labels) trained[label] = true;
  const auto logits = fold.layer.logits(kernels, fold.test.x);
  for (size_t r = 0; r < fold.test.labels.size(); ++r) {
    if (!trained[fold.test.labels[r]]) continue;
    const auto row = logits.begin() + static_cast<int64_t>(r) * classes;
    out.logits.insert(out.logits.end(), row, row + classes);
    out.labels.push_back(fold.test.labels[r]);
  }
  return out;
}

// Writes the best penalty, its temperature and its loss to the report. Leaves in the folds the
// layers of the last penalty that was tried.
void choose_penalty(const FitOptions& options, int32_t classes, const kernels::Table& kernels,
                    std::vector<Fold>& folds, engine::Workers& workers, FitReport& report) {
  for (Fold& fold : folds)
    fold.features = std::make_unique<const Features>(kernels, fold.train.dim, fold.train.x);
  report.loss = 1e300;
  int worse = 0;
  const std::vector<double> penalties =
      options.l2 ? std::vector{*options.l2} : std::vector(kPenalties.begin(), kPenalties.end());
  for (const double penalty : penalties) {
    TestLogits all;
    for (Fold& fold : folds) {
      SoftmaxOptions softmax{.l2 = penalty};
      if (options.balanced) softmax.class_weight = balance(fold.train, classes);
      fold.layer =
          fit_softmax(*fold.features, fold.train.labels, classes, softmax, workers, &fold.layer);
      const TestLogits own = test_logits(fold, kernels, classes);
      all.logits.insert(all.logits.end(), own.logits.begin(), own.logits.end());
      all.labels.insert(all.labels.end(), own.labels.begin(), own.labels.end());
    }
    const double temperature = fit_temperature(all.logits, all.labels, classes);
    const double loss = log_loss(all.logits, all.labels, classes, temperature);
    options.print(
        fmt::format("penalty {:g}: loss {:.4f}, temperature {:.3f}", penalty, loss, temperature));
    if (loss >= report.loss) {
      if (++worse == kWorseMax) break;
      continue;
    }
    worse = 0;
    report.loss = loss;
    report.l2 = penalty;
    report.temperature = temperature;
  }
}

}  // namespace

Result<LinearClassifier> fit_layer(const FitOptions& options, int32_t classes, int32_t folds,
                                   Vectors train, Vectors validation, engine::Workers& workers,
                                   FitReport& report) {
  SIGNALBOX_TRY(const kernels::Table* kernels, kernels::active_table());
  const double unit = 1 / rms(train);
  scale(train, unit);
  scale(validation, unit);
  std::vector<Fold> parts;
  if (folds == 0) {
    parts.push_back({std::move(train), std::move(validation)});
  } else {
    append(validation, train);
    for (int32_t f = 0; f < folds; ++f)
      parts.push_back({part_of(train, f, false), part_of(train, f, true)});
  }
  choose_penalty(options, classes, *kernels, parts, workers, report);
  if (folds == 0) {
    train = std::move(parts[0].train);
    append(parts[0].test, train);
  }
  LinearClassifier layer = std::move(parts[0].layer);
  parts.clear();
  SoftmaxOptions softmax{.l2 = report.l2};
  // Without folds, the vectors are back by now. NOLINTNEXTLINE(bugprone-use-after-move)
  if (options.balanced) softmax.class_weight = balance(train, classes);
  const Features features(*kernels, train.dim, train.x);
  layer = fit_softmax(features, train.labels, classes, softmax, workers, &layer);
  for (float& w : layer.weight) w = static_cast<float>(w * unit / report.temperature);
  for (float& b : layer.bias) b = static_cast<float>(b / report.temperature);
  return layer;
}

}  // namespace signalbox::tools
