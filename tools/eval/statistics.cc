// Values are sorted once at construction; each sample then takes one pass over the rows.

#include "tools/eval/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace signalbox::tools {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounding = 1e-6;  // for a share times a row count, a whole number
constexpr size_t kSamplesMax = 1000;
constexpr size_t kSamplesMin = 200;
constexpr size_t kDrawsMax = 100'000'000;

template <class Compare>
std::vector<uint32_t> sorted_rows(std::span<const double> values, Compare compare) {
  std::vector<uint32_t> out(values.size());
  std::iota(out.begin(), out.end(), 0U);
  std::ranges::stable_sort(out, compare, [&](uint32_t row) { return values[row]; });
  return out;
}

double ratio(double part, double whole) {
  return whole == 0 ? kNone : part / whole;
}

}  // namespace

Roc::Roc(std::span<const double> scores, std::span<const uint8_t> positives)
    : rows_(sorted_rows(scores, std::greater())) {
  for (const uint32_t row : rows_) {
    scores_.push_back(scores[row]);
    positives_.push_back(positives[row]);
  }
}

double Roc::area(Weights weights) const {
  double pairs = 0, above = 0,
         others = 0;  // pairs ranked correctly; positives and negatives seen so far
  for (size_t i = 0; i < rows_.size();) {
    double positive = 0, negative = 0;
    const double score = scores_[i];
    for (; i < rows_.size() && scores_[i] == score; ++i)
      (positives_[i] != 0 ? positive : negative) += weights[rows_[i]];
    pairs += negative * (above + positive / 2);
    above += positive;
    others += negative;
  }
  return ratio(pairs, above * others);
}

Roc::Point Roc::at_false_positives(double share_max, Weights weights) const {
  double positives = 0, negatives = 0;
  for (size_t i = 0; i < rows_.size(); ++i)
    (positives_[i] != 0 ? positives : negatives) += weights[rows_[i]];
  Point out{std::numeric_limits<double>::infinity(), ratio(0, positives), ratio(0, negatives)};
  double found = 0, wrong = 0;
  for (size_t i = 0; i < rows_.size();) {
    const double score = scores_[i];
    for (; i < rows_.size() && scores_[i] == score; ++i)
      (positives_[i] != 0 ? found : wrong) += weights[rows_[i]];
    if (wrong > share_max * negatives + kRounding) break;
    // Lowering the threshold without a gain in recall would only bring it closer to unseen rows.
    if (positives > 0 && found / positives > out.recall)
      out = {score, found / positives, ratio(wrong, negatives)};
  }
  return out;
}

Roc::Best Roc::best_f1(Weights weights) const {
  double positives = 0, found = 0, taken = 0;
  for (size_t i = 0; i < rows_.size(); ++i) positives += positives_[i] * weights[rows_[i]];
  Best out{std::numeric_limits<double>::infinity(), ratio(0, positives)};
  for (size_t i = 0; i < rows_.size();) {
    const double score = scores_[i];
    for (; i < rows_.size() && scores_[i] == score; ++i) {
      taken += weights[rows_[i]];
      found += positives_[i] * weights[rows_[i]];
    }
    const double f1 = 2 * found / (positives + taken);
    if (f1 > out.f1) out = {score, f1};
  }
  return out;
}

double pearson(std::span<const double> x, std::span<const double> y, Weights weights) {
  double total = 0, mean_x = 0, mean_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    total += weights[i];
    mean_x += weights[i] * x[i];
    mean_y += weights[i] * y[i];
  }
  mean_x = ratio(mean_x, total);
  mean_y = ratio(mean_y, total);
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += weights[i] * dx * dx;
    yy += weights[i] * dy * dy;
    xy += weights[i] * dx * dy;
  }
  return ratio(xy, std::sqrt(xx * yy));
}

Spearman::Spearman(std::span<const double> x, std::span<const double> y)
    : x_{{x.begin(), x.end()}, sorted_rows(x, std::less())},
      y_{{y.begin(), y.end()}, sorted_rows(y, std::less())} {}

std::vector<double> Spearman::ranks(const Side& side, Weights weights) {
  std::vector<double> out(side.values.size());
  double before = 0;
  for (size_t i = 0; i < out.size();) {
    const size_t begin = i;
    double here = 0;
    const double value = side.values[side.order[i]];
    for (; i < out.size() && side.values[side.order[i]] == value; ++i)
      here += weights[side.order[i]];
    for (size_t j = begin; j < i; ++j) out[side.order[j]] = before + (here + 1) / 2;
    before += here;
  }
  return out;
}

double Spearman::operator()(Weights weights) const {
  return pearson(ranks(x_, weights), ranks(y_, weights), weights);
}

double macro_f1(std::span<const int32_t> truths, std::span<const int32_t> predicted, size_t labels,
                Weights weights) {
  std::vector<double> support(labels), taken(labels), hits(labels);
  for (size_t i = 0; i < truths.size(); ++i) {
    support[truths[i]] += weights[i];
    taken[predicted[i]] += weights[i];
    if (truths[i] == predicted[i]) hits[truths[i]] += weights[i];
  }
  double sum = 0, occurring = 0;
  for (size_t label = 0; label < labels; ++label) {
    if (support[label] == 0) continue;
    ++occurring;
    sum += 2 * hits[label] / (support[label] + taken[label]);
  }
  return ratio(sum, occurring);
}

double f1(std::span<const uint8_t> positives, std::span<const uint8_t> found, Weights weights) {
  double both = 0, either = 0;
  for (size_t i = 0; i < positives.size(); ++i) {
    both += weights[i] * (positives[i] & found[i]);
    either += weights[i] * (positives[i] + found[i]);
  }
  return ratio(2 * both, either);
}

double span_f1(std::span<const SpanCounts> texts, Weights weights) {
  double hits = 0, both = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    hits += weights[i] * static_cast<double>(texts[i].hits);
    both += weights[i] * static_cast<double>(texts[i].support + texts[i].predicted);
  }
  return ratio(2 * hits, both);
}

std::vector<std::vector<double>> resampled(std::span<const Figure> figures, size_t rows,
                                           uint32_t seed) {
  std::vector<std::vector<double>> out(figures.size());
  if (rows == 0) return out;
  const size_t samples = std::clamp(kDrawsMax / rows, kSamplesMin, kSamplesMax);
  std::mt19937 random(seed);
  std::vector<uint32_t> weights(rows);
  for (size_t sample = 0; sample < samples; ++sample) {
    std::ranges::fill(weights, 0U);
    // The library's distributions differ between implementations, so we compute the index here.
    for (size_t i = 0; i < rows; ++i) ++weights[(uint64_t{random()} * rows) >> 32];
    for (size_t f = 0; f < figures.size(); ++f) out[f].push_back(figures[f].of(weights));
  }
  return out;
}

Interval percentile_interval(std::vector<double> samples) {
  std::erase_if(samples, [](double x) { return !std::isfinite(x); });
  if (samples.empty()) return {kNone, kNone};
  std::ranges::sort(samples);
  return {percentile(samples, 0.025), percentile(samples, 0.975)};
}

double mcnemar(const PairedHits& hits) {
  const auto n = static_cast<double>(hits.first_only + hits.second_only);
  const auto fewer = static_cast<double>(std::min(hits.first_only, hits.second_only));
  double tail = 0;
  for (double k = 0; k <= fewer; ++k) {
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) -
                     n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

Interval accuracy_difference(const PairedHits& hits) {
  constexpr double kZ = 1.959964;
  const double n = static_cast<double>(hits.rows) + 2;
  const double gained = static_cast<double>(hits.second_only + 1) / n;
  const double lost = static_cast<double>(hits.first_only + 1) / n;
  const double difference = gained - lost;
  const double reach = kZ * std::sqrt((gained + lost - difference * difference) / n);
  return {std::max(-1.0, difference - reach), std::min(1.0, difference + reach)};
}

double percentile(std::span<const double> sorted, double share) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace signalbox::tools
