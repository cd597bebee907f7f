#pragma once
// Multinomial logistic regression: fits the linear layer of a classifier to fixed vectors. It
// minimises the mean negative log-likelihood, weighted by class, plus l2 / 2 |weights|^2; biases
// are not penalised.

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "engine/parallel.h"
#include "kernels/kernels.h"

namespace signalbox::tools {

/// Vectors x (rows, dim), packed for products with x and with its transpose. Takes twice the memory
/// of x.
class Features {
 public:
  Features(const kernels::Table& kernels, int32_t dim, std::span<const float> x);

  int64_t rows() const { return rows_; }
  int32_t dim() const { return dim_; }

 private:
  friend class SoftmaxLoss;
  struct Block {
    int32_t rows;
    Buffer<char> forward;   // packed: x as the weights of a layer from dim to rows
    Buffer<char> backward;  // packed: the transpose
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

  /// Returns the logits (rows, classes) of x (rows, dim).
  std::vector<float> logits(const kernels::Table& kernels, std::span<const float> x) const;
};

struct SoftmaxOptions {
  double l2 = 1e-4;
  std::vector<double> class_weight = {};  // (classes), mean 1 over the rows; empty: all 1
  int iterations_max = 300;
};

/// Returns the minimum. Starts at `start` if its shape fits, otherwise at zero. labels
/// (features.rows()), each below `classes`. The result does not depend on the number of threads.
LinearClassifier fit_softmax(const Features& features, std::span<const int32_t> labels,
                             int32_t classes, const SoftmaxOptions& options,
                             engine::Workers& workers, const LinearClassifier* start = nullptr);

/// Mean negative log-likelihood of logits (rows, classes) divided by a temperature. With
/// probability `doubt`, a row's label is replaced by a random one.
double log_loss(std::span<const float> logits, std::span<const int32_t> labels, int32_t classes,
                double temperature = 1, double doubt = 0);

/// Returns the temperature from 0.05 to 20 with the lowest log_loss: Guo et al., "On Calibration of
/// Modern Neural Networks", 2017. Fewer rows imply more doubt about their labels.
double fit_temperature(std::span<const float> logits, std::span<const int32_t> labels,
                       int32_t classes);

}  // namespace signalbox::tools
