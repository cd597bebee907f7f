#pragma once
// Computes figures over weighted rows. A bootstrap draws rows with replacement, so every function
// here takes how often each row counts.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tools/quality.h"

namespace signalbox::tools {

/// The number of times that each row counts: (rows).
using Weights = std::span<const uint32_t>;

/// The receiver operating characteristic of two-class scores. Rows with equal scores cannot be
/// separated, so they lie on the same side of every threshold, and a tied pair counts half in the
/// area.
class Roc {
 public:
  /// `scores`: each row's score for the positive class; `positives`: 1 for positive rows. Both
  /// (rows).
  Roc(std::span<const double> scores, std::span<const uint8_t> positives);

  /// The share of pairs, one row of each class, in which the positive row scores higher. NaN if a
  /// class has no rows.
  double area(Weights weights) const;

  struct Point {
    double threshold;        // rows with at least this score are classified as positive
    double recall;           // share of the positive rows found
    double false_positives;  // share of the other rows classified as positive
  };
  /// The highest F1 over all thresholds, with its threshold; NaN without positive rows.
  struct Best {
    double threshold, f1;
  };
  Best best_f1(Weights weights) const;

  /// The point with the highest recall whose false positive rate does not exceed `share_max`. The
  /// threshold is infinite if even the highest-scoring rows exceed it. Shares of no rows are NaN.
  Point at_false_positives(double share_max, Weights weights) const;

 private:
  std::vector<double> scores_;      // (rows), descending
  std::vector<uint8_t> positives_;  // (rows), in the same order
  std::vector<uint32_t> rows_;      // (rows), sorted position to row
};

/// Linear correlation; NaN if a side does not vary.
double pearson(std::span<const double> x, std::span<const double> y, Weights weights);

/// Rank correlation; equal values share their mean rank.
class Spearman {
 public:
  Spearman(std::span<const double> x, std::span<const double> y);
  double operator()(Weights weights) const;

 private:
  struct Side {
    std::vector<double> values;   // (rows)
    std::vector<uint32_t> order;  // rows by value
  };
  static std::vector<double> ranks(const Side& side, Weights weights);
  Side x_, y_;
};

/// Mean F1 of the labels that occur, as in Quality. Both spans (rows), values below `labels`.
double macro_f1(std::span<const int32_t> truths, std::span<const int32_t> predicted, size_t labels,
                Weights weights);

/// F1 of the positive class if the rows marked in `found` are classified as positive. NaN if both
/// are empty.
double f1(std::span<const uint8_t> positives, std::span<const uint8_t> found, Weights weights);

/// F1 over all spans of all texts together.
double span_f1(std::span<const SpanCounts> texts, Weights weights);

/// A figure for which resampling computes an interval.
struct Figure {
  std::string name;
  std::function<double(Weights)> of;
};

/// Evaluates the figures on samples of `rows` rows drawn with replacement: (figures, samples).
/// Equal seeds draw equal rows, so differences between two models are paired. Draws a thousand
/// samples, or fewer if there are many rows.
std::vector<std::vector<double>> resampled(std::span<const Figure> figures, size_t rows,
                                           uint32_t seed);

/// The middle 95 % of the samples (B. Efron, 1979); ignores samples that are NaN. NaN if none
/// remain.
Interval percentile_interval(std::vector<double> samples);

/// Compares the hits of two models on the same rows.
struct PairedHits {
  int64_t first_only = 0;
  int64_t second_only = 0;
  int64_t rows = 0;
};

/// Exact McNemar test: the probability of a split at least this uneven if both models are equally
/// good.
double mcnemar(const PairedHits& hits);

/// The 95 % interval of the second model's accuracy minus the first's: D. G. Bonett and R. M.
/// Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on
/// Paired Data", 2012.
Interval accuracy_difference(const PairedHits& hits);

/// The smallest value that at least `share` of the values do not exceed (nearest rank). 0 if there
/// are no values. `sorted` is in ascending order.
double percentile(std::span<const double> sorted, double share);

}  // namespace signalbox::tools
