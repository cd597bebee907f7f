#pragma once
// Multinomial logistic regression: the linear layer of a classifier on vectors that stay as they
// are. What is minimised is the mean negative log-likelihood, weighted by class, plus
// l2 / 2 |weights|^2; biases are free.

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "engine/parallel.h"
#include "kernels/kernels.h"

namespace signalbox::tools {

/// Vectors x (rows, dim) laid out for products with them and with their transpose. Takes twice
/// their size.
class Features {
 public:
  Features(const kernels::Table& kernels, int32_t dim, std::span<const float> x);

  int64_t rows() const { return rows_; }
  int32_t dim() const { return dim_; }

 private:
  friend class SoftmaxLoss;
  struct Block {
    int32_t rows;
    Buffer<char> forward;   // packed, x as weights of a layer from dim to rows
    Buffer<char> backward;  // its transpose
  };
  const kernels::Table* kernels_;
  int32_t dim_;
  int64_t rows_;
  std::vector<Block> blocks_;
};

struct LinearClassifier {
  int32_t classes = 0;
  int32_t dim = 0;
  std::vector<float> weight;  // (classes, dim)
  std::vector<float> bias;    // (classes)

  /// Logits (rows, classes) of x (rows, dim).
  std::vector<float> logits(const kernels::Table& kernels, std::span<const float> x) const;
};

struct SoftmaxOptions {
  double l2 = 1e-4;
  std::vector<double> class_weight = {};  // (classes), mean 1 over the rows; empty: all 1
  int iterations_max = 300;
};

/// The minimum, from `start` when its shape fits, else from zero. labels (features.rows()), each
/// below `classes`. The same for any number of threads.
LinearClassifier fit_softmax(const Features& features, std::span<const int32_t> labels,
                             int32_t classes, const SoftmaxOptions& options,
                             engine::Workers& workers, const LinearClassifier* start = nullptr);

/// Mean negative log-likelihood of logits (rows, classes) divided by a temperature, of labels each
/// of which is any label at all with the probability `doubt`.
double log_loss(std::span<const float> logits, std::span<const int32_t> labels, int32_t classes,
                double temperature = 1, double doubt = 0);

/// The temperature with the least log_loss, 0.05 to 20: Guo et al., "On Calibration of Modern
/// Neural Networks", 2017. Fewer rows leave more doubt about their labels.
double fit_temperature(std::span<const float> logits, std::span<const int32_t> labels,
                       int32_t classes);

}  // namespace signalbox::tools
