// Uses the engine's kernels for products, a block of rows at a time. Blocks are summed in double
// precision and in order, so the number of threads does not affect the result.

#include "tools/fit/softmax_regression.h"

#include <algorithm>
#include <cmath>

#include "tools/fit/minimise.h"

namespace signalbox::tools {
namespace {

// Sums over the rows of a block are in single precision; longer sums would lose too much precision.
constexpr int64_t kBlockRows = 2048;

}  // namespace

Features::Features(const kernels::Table& kernels, int32_t dim, std::span<const float> x)
    : kernels_(&kernels), dim_(dim), rows_(static_cast<int64_t>(x.size()) / dim) {
  std::vector<float> transposed;  // (dim, rows of the block)
  for (int64_t begin = 0; begin < rows_; begin += kBlockRows) {
    const auto rows = static_cast<int32_t>(std::min(kBlockRows, rows_ - begin));
    const float* from = x.data() + begin * dim;
    Block block{rows, Buffer<char>(kernels::packed_linear_bytes(kernels::Format::kF32, dim, rows)),
                Buffer<char>(kernels::packed_linear_bytes(kernels::Format::kF32, rows, dim))};
    kernels::pack_linear(kernels::Format::kF32, dim, rows, from, block.forward.data());
    transposed.resize(int64_t{dim} * rows);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < dim; ++j) transposed[j * rows + r] = from[r * dim + j];
    }
    kernels::pack_linear(kernels::Format::kF32, rows, dim, transposed.data(),
                         block.backward.data());
    blocks_.push_back(std::move(block));
  }
}

// The function that fit_softmax() minimises. Variables: weights (classes, dim), then biases
// (classes).
class SoftmaxLoss {
 public:
  SoftmaxLoss(const Features& features, std::span<const int32_t> labels, int32_t classes,
              const SoftmaxOptions& options, engine::Workers& workers)
      : features_(features),
        labels_(labels),
        classes_(classes),
        options_(options),
        workers_(workers),
        parts_(features.blocks_.size()) {}

  double operator()(std::span<const double> x, std::span<double> gradient) {
    const auto weights = static_cast<int64_t>(classes_) * features_.dim();
    std::vector<float> w(x.begin(), x.begin() + weights);
    const std::span<const double> bias = x.subspan(weights);
    workers_.for_each(static_cast<int32_t>(parts_.size()),
                      [&](int32_t b, int32_t) { run_block(b, w.data(), bias); });
    double loss = 0;
    for (int64_t i = 0; i < weights; ++i) {
      gradient[i] = options_.l2 * x[i];
      loss += options_.l2 / 2 * x[i] * x[i];
    }
    std::fill(gradient.begin() + weights, gradient.end(), 0.0);
    const double share = 1 / static_cast<double>(features_.rows());
    for (const Part& part : parts_) {
      loss += share * part.loss;
      for (int64_t i = 0; i < weights; ++i) gradient[i] += share * part.weight[i];
      for (int32_t k = 0; k < classes_; ++k) gradient[weights + k] += share * part.bias[k];
    }
    return loss;
  }

 private:
  struct Part {
    double loss = 0;
    std::vector<float> logits;  // (classes, rows), later the gradient of the logits
    std::vector<float> weight;  // (classes, dim)
    std::vector<double> bias;   // (classes)
  };

  void run_block(int32_t b, const float* w, std::span<const double> bias) {
    const Features::Block& block = features_.blocks_[b];
    const int32_t rows = block.rows, dim = features_.dim();
    Part& part = parts_[b];
    part.loss = 0;
    part.logits.resize(int64_t{classes_} * rows);
    part.weight.resize(int64_t{classes_} * dim);
    part.bias.assign(classes_, 0.0);
    const kernels::Table& kernels = *features_.kernels_;
    kernels.linear_f32({classes_, dim, rows}, w, block.forward.data(), {}, part.logits.data());
    std::vector<double> p(classes_);
    for (int32_t r = 0; r < rows; ++r) {
      double most = -1e300, sum = 0;
      for (int32_t k = 0; k < classes_; ++k) {
        p[k] = part.logits[int64_t{k} * rows + r] + bias[k];
        most = std::max(most, p[k]);
      }
      const int32_t label = labels_[b * kBlockRows + r];
      const double own = p[label];
      for (double& each : p) sum += each = std::exp(each - most);
      const double weight = options_.class_weight.empty() ? 1 : options_.class_weight[label];
      part.loss += weight * (std::log(sum) + most - own);
      for (int32_t k = 0; k < classes_; ++k) {
        const double slope = weight * (p[k] / sum - (k == label ? 1 : 0));
        part.bias[k] += slope;
        part.logits[int64_t{k} * rows + r] = static_cast<float>(slope);
      }
    }
    kernels.linear_f32({classes_, rows, dim}, part.logits.data(), block.backward.data(), {},
                       part.weight.data());
  }

  const Features& features_;
  const std::span<const int32_t> labels_;
  const int32_t classes_;
  const SoftmaxOptions& options_;
  engine::Workers& workers_;
  std::vector<Part> parts_;
};

std::vector<float> LinearClassifier::logits(const kernels::Table& kernels,
                                            std::span<const float> x) const {
  const auto rows = static_cast<int32_t>(x.size() / dim);
  Buffer<char> packed(kernels::packed_linear_bytes(kernels::Format::kF32, dim, classes));
  Buffer<float> packed_bias(kernels::packed_bias_size(classes));
  kernels::pack_linear(kernels::Format::kF32, dim, classes, weight.data(), packed.data());
  kernels::pack_bias(classes, bias.data(), packed_bias.data());
  std::vector<float> out(int64_t{rows} * classes);
  kernels.linear_f32({rows, dim, classes}, x.data(), packed.data(),
                     {kernels::Finish::kStore, packed_bias.data()}, out.data());
  return out;
}

LinearClassifier fit_softmax(const Features& features, std::span<const int32_t> labels,
                             int32_t classes, const SoftmaxOptions& options,
                             engine::Workers& workers, const LinearClassifier* start) {
  const int32_t dim = features.dim();
  const int64_t weights = int64_t{classes} * dim;
  std::vector<double> x(weights + classes);
  if (start != nullptr && start->classes == classes && start->dim == dim) {
    std::copy(start->weight.begin(), start->weight.end(), x.begin());
    std::copy(start->bias.begin(), start->bias.end(), x.begin() + weights);
  }
  SoftmaxLoss loss(features, labels, classes, options, workers);
  const Minimum minimum = minimise([&](auto at, auto gradient) { return loss(at, gradient); },
                                   std::move(x), {.iterations_max = options.iterations_max});
  LinearClassifier out{classes, dim, {}, {}};
  out.weight.assign(minimum.x.begin(), minimum.x.begin() + weights);
  out.bias.assign(minimum.x.begin() + weights, minimum.x.end());
  return out;
}

double log_loss(std::span<const float> logits, std::span<const int32_t> labels, int32_t classes,
                double temperature, double doubt) {
  double total = 0;
  for (size_t r = 0; r < labels.size(); ++r) {
    const auto row = logits.subspan(r * classes, classes);
    const double most = *std::ranges::max_element(row) / temperature;
    double sum = 0, all = 0;
    for (const float x : row) {
      sum += std::exp(x / temperature - most);
      all += x;
    }
    const double own = (1 - doubt) * row[labels[r]] + doubt * all / classes;
    total += std::log(sum) + most - own / temperature;
  }
  return labels.empty() ? 0 : total / static_cast<double>(labels.size());
}

// The loss has a single minimum along the logarithm of the temperature: golden-section search.
double fit_temperature(std::span<const float> logits, std::span<const int32_t> labels,
                       int32_t classes) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  double low = std::log(0.05), high = std::log(20.0);
  // If all rows are classified correctly, however few they are, the lowest temperature would be
  // best. The doubt accounts for unseen rows, which could have any label (Platt, "Probabilistic
  // Outputs for Support Vector Machines", 1999, for two classes).
  const double doubt = 1 / (static_cast<double>(labels.size()) + 2);
  const auto at = [&](double t) { return log_loss(logits, labels, classes, std::exp(t), doubt); };
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double at_a = at(a), at_b = at(b);
  while (high - low > 1e-4) {
    if (at_a < at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - ratio * (high - low);
      at_a = at(a);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + ratio * (high - low);
      at_b = at(b);
    }
  }
  return std::exp((low + high) / 2);
}

}  // namespace signalbox::tools
