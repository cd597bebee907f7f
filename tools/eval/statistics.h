#pragma once
// Figures of rows that were measured once and may count several times: a bootstrap draws rows with
// replacement, so every figure here takes how often each row counts.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tools/quality.h"

namespace signalbox::tools {

/// How often each row counts, (rows).
using Weights = std::span<const uint32_t>;

/// Scores of two classes: receiver operating characteristic. Rows of equal score are told apart by
/// nothing, so they stand on one side of every threshold, and half of each pair is counted as right
/// in the area.
class Roc {
 public:
  /// Of each row, how much it is taken for the positive class, and whether it is; of one length.
  Roc(std::span<const double> scores, std::span<const uint8_t> positives);

  /// The share of pairs, one row of each class, in which the positive one scores higher. NaN when a
  /// class has no rows.
  double area(Weights weights) const;

  struct Point {
    double threshold;        // rows that score so much or more are taken for positive
    double recall;           // of the positive rows
    double false_positives;  // share of the others
  };
  /// The highest F1 of any threshold, and the threshold; NaN without positive rows.
  struct Best {
    double threshold, f1;
  };
  Best best_f1(Weights weights) const;

  /// Where recall is highest with at most so many false positives; an infinite threshold when the
  /// best rows alone are too many. NaN for shares of no rows.
  Point at_false_positives(double share_max, Weights weights) const;

 private:
  std::vector<double> scores_;      // (rows), descending
  std::vector<uint8_t> positives_;  // in that order
  std::vector<uint32_t> rows_;      // place in that order to row
};

/// Linear correlation; NaN when a side does not vary.
double pearson(std::span<const double> x, std::span<const double> y, Weights weights);

/// Correlation of ranks, equal values sharing the mean of theirs.
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

/// Mean F1 of the labels that occur, as Quality has it. Both (rows), below `labels`.
double macro_f1(std::span<const int32_t> truths, std::span<const int32_t> predicted, size_t labels,
                Weights weights);

/// F1 of the positive rows when those of `found` are taken for them. NaN when there are none of
/// either.
double f1(std::span<const uint8_t> positives, std::span<const uint8_t> found, Weights weights);

/// Of all spans of all texts together.
double span_f1(std::span<const SpanCounts> texts, Weights weights);

/// A figure that resampling gives an interval.
struct Figure {
  std::string name;
  std::function<double(Weights)> of;
};

/// The figures on samples of `rows` rows drawn with replacement: (figures, samples). The same seed
/// draws the same rows for whoever asks, so that differences between two models are paired. A
/// thousand samples, fewer for many rows.
std::vector<std::vector<double>> resampled(std::span<const Figure> figures, size_t rows,
                                           uint32_t seed);

/// The middle 95 % of samples, those that are not numbers left out: B. Efron, 1979. NaN of none.
Interval middle(std::vector<double> samples);

/// Of two models on the same rows: does one have the other's hits?
struct PairedHits {
  int64_t first_only = 0;
  int64_t second_only = 0;
  int64_t rows = 0;
};

/// Probability of a split at least as uneven if neither were better: McNemar's test, exact.
double mcnemar(const PairedHits& hits);

/// 95 % interval of the second's accuracy less the first's: D. G. Bonett and R. M. Price, "Adjusted
/// Wald Confidence Interval for a Difference of Binomial Proportions Based on Paired Data", 2012.
Interval accuracy_difference(const PairedHits& hits);

/// The value that `share` of the values do not exceed: the nearest rank. 0 of none; sorted
/// ascending.
double percentile(std::span<const double> sorted, double share);

}  // namespace signalbox::tools
