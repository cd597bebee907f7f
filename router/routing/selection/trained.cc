// kmeans, svm and mlp differ only in how they score models for an embedding. Each file is read once
// and checked whole, so that scoring cannot fail.

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "router/routing/selection/algorithms.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {
namespace {

using json::Value;

constexpr size_t kTrainedBytesMax = size_t{256} << 20;
constexpr size_t kLayersMax = 64;
constexpr double kNumberMax = 1e30;

/// (rows, columns), row after row.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<double> values;

  std::span<const double> row(size_t i) const {
    return std::span(values).subspan(i * columns, columns);
  }
};

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Reads members with the file's name in errors.
class TrainedFile {
 public:
  TrainedFile(std::string_view name, const Value& root) : name_(name), root_(root) {}

  const Value& root() const { return root_; }
  tl::unexpected<Error> wrong(std::string_view key, std::string_view what) const {
    return fail(Code::kInvalid, "{}: {}: {}", name_, key, what);
  }

  Result<std::vector<double>> numbers(const Value& object, std::string_view key,
                                      std::optional<size_t> count) const {
    const auto list = object.find(key);
    if (!list || !list->is_array()) return wrong(key, "expected an array of numbers");
    std::vector<double> out;
    SIGNALBOX_TRY_VOID(append(key, *list, out));
    if (count && out.size() != *count)
      return wrong(key, fmt::format("expected {} numbers, found {}", *count, out.size()));
    return out;
  }

  /// Rows of equal length; of `columns`, if given.
  Result<Matrix> matrix(const Value& object, std::string_view key,
                        std::optional<size_t> columns) const {
    const auto list = object.find(key);
    if (!list || !list->is_array()) return wrong(key, "expected an array of arrays");
    Matrix out;
    for (const Value& row : list->items()) {
      const size_t before = out.values.size();
      if (!row.is_array()) return wrong(key, "expected an array of arrays");
      SIGNALBOX_TRY_VOID(append(key, row, out.values));
      const size_t found = out.values.size() - before;
      if (out.rows == 0) out.columns = columns.value_or(found);
      if (found != out.columns || found == 0) {
        return wrong(fmt::format("{}[{}]", key, out.rows),
                     fmt::format("expected {} numbers, found {}", out.columns, found));
      }
      ++out.rows;
    }
    if (out.rows == 0) return wrong(key, "expected at least one row");
    return out;
  }

  Result<std::vector<std::string>> names(const Value& object, std::string_view key) const {
    const auto list = object.find(key);
    if (!list || !list->is_array()) return wrong(key, "expected an array of strings");
    std::vector<std::string> out;
    for (const Value& each : list->items()) {
      if (!each.is_string()) return wrong(key, "expected an array of strings");
      out.emplace_back(each.text());
    }
    if (out.empty()) return wrong(key, "expected at least one");
    return out;
  }

  Result<double> number(const Value& object, std::string_view key, double fallback) const {
    const auto found = object.find(key);
    if (!found || found->is_null()) return fallback;
    const auto out = found->number();
    if (!out || std::abs(*out) > kNumberMax) return wrong(key, "expected a number");
    return *out;
  }

  std::string_view text(const Value& object, std::string_view key) const {
    const auto found = object.find(key);
    return found && found->is_string() ? found->text() : std::string_view();
  }

 private:
  Result<void> append(std::string_view key, const Value& list, std::vector<double>& out) const {
    for (const Value& each : list.items()) {
      const auto value = each.number();
      if (!value || std::abs(*value) > kNumberMax) return wrong(key, "expected numbers");
      out.push_back(*value);
    }
    return {};
  }

  std::string_view name_;
  Value root_;
};

/// Scores of models by name for an embedding, the greater the better.
class TrainedModel {
 public:
  virtual ~TrainedModel() = default;
  /// (names)
  virtual std::vector<double> scores(std::span<const double> query) const = 0;
  const std::vector<std::string>& names() const { return names_; }

 protected:
  std::vector<std::string> names_;
};

class TrainedSelector final : public Selector {
 public:
  TrainedSelector(std::string_view method, std::unique_ptr<const TrainedModel> model)
      : method_(method), model_(std::move(model)) {}
  std::string_view method() const override { return method_; }
  bool needs_query() const override { return true; }

  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    if (inputs.query.empty())
      return Choice{0, "the first of its models: the request was not embedded"};
    const std::vector<double> query(inputs.query.begin(), inputs.query.end());
    const std::vector<double> all = model_->scores(query);
    Scores scores(candidates.size());
    bool knows_any = false;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const auto& names = model_->names();
      const auto found = std::find(names.begin(), names.end(), candidates[i].model->name);
      if (found == names.end()) continue;
      scores[i] = all[static_cast<size_t>(found - names.begin())];
      knows_any = true;
    }
    if (!knows_any) return Choice{0, "the first of its models: the selector knows none of them"};
    return Choice{best_of(scores), fmt::format("scores: {}", describe_scores(candidates, scores))};
  }

 private:
  const std::string_view method_;
  const std::unique_ptr<const TrainedModel> model_;
};

/// The scores of the cluster whose centre is nearest.
class Clusters final : public TrainedModel {
 public:
  static Result<std::unique_ptr<const TrainedModel>> read(const TrainedFile& file, size_t dim) {
    auto out = std::make_unique<Clusters>();
    SIGNALBOX_TRY(out->centres_, file.matrix(file.root(), "centroids", dim));
    const size_t clusters = out->centres_.rows;
    if (const auto set = file.root().find("candidate_set")) {
      SIGNALBOX_TRY(out->names_, file.names(*set, "models"));
      SIGNALBOX_TRY(out->scores_, file.matrix(file.root(), "scores", out->names_.size()));
      if (out->scores_.rows != clusters) return file.wrong("scores", "expected a row a centroid");
      return std::unique_ptr<const TrainedModel>(std::move(out));
    }
    // An older file names one model for each cluster.
    SIGNALBOX_TRY(const auto winners, file.names(file.root(), "cluster_models"));
    if (winners.size() < clusters)
      return file.wrong("cluster_models", "expected a name for each centroid");
    for (const std::string& name : winners) {
      if (std::find(out->names_.begin(), out->names_.end(), name) == out->names_.end())
        out->names_.push_back(name);
    }
    out->scores_.rows = clusters;
    out->scores_.columns = out->names_.size();
    for (size_t i = 0; i < clusters; ++i) {
      for (const std::string& name : out->names_)
        out->scores_.values.push_back(name == winners[i] ? 1 : 0);
    }
    return std::unique_ptr<const TrainedModel>(std::move(out));
  }

  std::vector<double> scores(std::span<const double> query) const override {
    size_t best = 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < centres_.rows; ++i) {
      const double distance = squared_distance(centres_.row(i), query);
      if (distance >= least) continue;
      least = distance;
      best = i;
    }
    const auto row = scores_.row(best);
    return {row.begin(), row.end()};
  }

 private:
  Matrix centres_;  // (clusters, dim)
  Matrix scores_;   // (clusters, names)
};

/// One classifier for each model: the sum over its vectors of coefficient times kernel, less `rho`.
class OneAgainstAll final : public TrainedModel {
 public:
  static Result<std::unique_ptr<const TrainedModel>> read(const TrainedFile& file, size_t dim) {
    auto out = std::make_unique<OneAgainstAll>();
    for (const std::string_view key : {"linear_classifiers", "rbf_classifiers"}) {
      const auto list = file.root().find(key);
      if (!list) continue;
      for (const Value& each : list->items()) {
        Classifier one;
        SIGNALBOX_TRY(one.rho, file.number(each, "rho", 0));
        if (key == "linear_classifiers") {
          SIGNALBOX_TRY(one.coefficients, file.numbers(each, "weights", dim));
        } else {
          SIGNALBOX_TRY(one.vectors, file.matrix(each, "support_vectors", dim));
          SIGNALBOX_TRY(one.coefficients, file.numbers(each, "alpha", one.vectors.rows));
          SIGNALBOX_TRY(one.gamma, file.number(each, "gamma", 1));
        }
        out->names_.emplace_back(file.text(each, "model_name"));
        out->classifiers_.push_back(std::move(one));
      }
    }
    if (out->classifiers_.empty())
      return file.wrong("linear_classifiers", "expected classifiers here or in rbf_classifiers");
    return std::unique_ptr<const TrainedModel>(std::move(out));
  }

  std::vector<double> scores(std::span<const double> query) const override {
    std::vector<double> out;
    for (const Classifier& each : classifiers_) {
      double sum = -each.rho;
      if (each.vectors.rows == 0) sum += product(each.coefficients, query);
      for (size_t i = 0; i < each.vectors.rows; ++i) {
        sum += each.coefficients[i] *
               std::exp(-each.gamma * squared_distance(each.vectors.row(i), query));
      }
      out.push_back(sum);
    }
    return out;
  }

 private:
  struct Classifier {
    Matrix vectors;  // (vectors, dim); empty: linear
    std::vector<double> coefficients;
    double rho = 0, gamma = 1;
  };
  std::vector<Classifier> classifiers_;
};

/// A classifier for each pair of models, as in scikit-learn's SVC. A score is the number of pairs
/// won; the margins decide between equal numbers.
class EachAgainstEach final : public TrainedModel {
 public:
  static Result<std::unique_ptr<const TrainedModel>> read(const TrainedFile& file, size_t dim) {
    auto out = std::make_unique<EachAgainstEach>();
    SIGNALBOX_TRY(out->names_, file.names(file.root(), "model_names"));
    const size_t classes = out->names_.size();
    if (classes < 2) return file.wrong("model_names", "expected at least two");
    const Value svc = *file.root().find("svc");
    SIGNALBOX_TRY(out->vectors_, file.matrix(svc, "support_vectors", dim));
    SIGNALBOX_TRY(out->dual_, file.matrix(svc, "dual_coef", out->vectors_.rows));
    if (out->dual_.rows != classes - 1)
      return file.wrong("dual_coef", fmt::format("expected {} rows", classes - 1));
    SIGNALBOX_TRY(out->intercepts_, file.numbers(svc, "intercept", classes * (classes - 1) / 2));
    SIGNALBOX_TRY(const auto sizes, file.numbers(svc, "n_support", classes));
    for (const double size : sizes) {
      if (size < 0 || size != std::floor(size)) return file.wrong("n_support", "expected counts");
      out->begins_.push_back(out->begins_.back() + static_cast<size_t>(size));
    }
    if (out->begins_.back() != out->vectors_.rows)
      return file.wrong("n_support", "expected as many as there are support_vectors");
    out->is_linear_ = file.text(file.root(), "kernel_type") == "Linear";
    SIGNALBOX_TRY(out->gamma_, file.number(file.root(), "gamma", 1));
    return std::unique_ptr<const TrainedModel>(std::move(out));
  }

  std::vector<double> scores(std::span<const double> query) const override {
    std::vector<double> kernels(vectors_.rows);
    for (size_t i = 0; i < kernels.size(); ++i) {
      kernels[i] = is_linear_ ? product(vectors_.row(i), query)
                              : std::exp(-gamma_ * squared_distance(vectors_.row(i), query));
    }
    std::vector<double> wins(names_.size(), 0), margins(names_.size(), 0);
    size_t pair = 0;
    for (size_t a = 0; a < names_.size(); ++a) {
      for (size_t b = a + 1; b < names_.size(); ++b, ++pair) {
        double value = intercepts_[pair] + part(kernels, a, b - 1) + part(kernels, b, a);
        if (names_.size() == 2) value = -value;  // scikit-learn turns the sign of a single pair
        wins[value > 0 ? a : b] += 1;
        margins[a] += value;
        margins[b] -= value;
      }
    }
    for (size_t i = 0; i < wins.size(); ++i)
      wins[i] += margins[i] / (3 * (std::abs(margins[i]) + 1));
    return wins;
  }

 private:
  double part(const std::vector<double>& kernels, size_t of_class, size_t row) const {
    double sum = 0;
    for (size_t i = begins_[of_class]; i < begins_[of_class + 1]; ++i)
      sum += dual_.row(row)[i] * kernels[i];
    return sum;
  }

  Matrix vectors_;  // (vectors, dim), class after class
  Matrix dual_;     // (classes - 1, vectors)
  std::vector<double> intercepts_;
  std::vector<size_t> begins_{0};  // of each class's vectors, and their end
  bool is_linear_ = false;
  double gamma_ = 1;
};

/// Linear layers, batch norms and ReLUs; dropout does nothing after training.
class Perceptron final : public TrainedModel {
 public:
  static Result<std::unique_ptr<const TrainedModel>> read(const TrainedFile& file, size_t dim) {
    auto out = std::make_unique<Perceptron>();
    SIGNALBOX_TRY(out->names_, file.names(file.root(), "model_names"));
    const auto layers = file.root().find("layers");
    if (!layers || !layers->is_array()) return file.wrong("layers", "expected an array");
    size_t width = dim;
    for (const Value& each : layers->items()) {
      if (out->layers_.size() == kLayersMax) return file.wrong("layers", "too many");
      SIGNALBOX_TRY(Layer layer, read_layer(file, each, width));
      if (layer.weights.rows > 0) width = layer.weights.rows;
      out->layers_.push_back(std::move(layer));
    }
    if (width != out->names_.size() || out->layers_.empty())
      return file.wrong("layers", fmt::format("expected {} outputs, one a model, found {}",
                                              out->names_.size(), width));
    return std::unique_ptr<const TrainedModel>(std::move(out));
  }

  std::vector<double> scores(std::span<const double> query) const override {
    std::vector<double> x(query.begin(), query.end());
    for (const Layer& layer : layers_) {
      if (layer.weights.rows > 0) {
        std::vector<double> y(layer.weights.rows);
        for (size_t i = 0; i < y.size(); ++i) y[i] = product(layer.weights.row(i), x);
        x = std::move(y);
      }
      for (size_t i = 0; i < layer.scale.size(); ++i) x[i] *= layer.scale[i];
      for (size_t i = 0; i < layer.shift.size(); ++i) x[i] += layer.shift[i];
      if (!layer.is_relu) continue;
      for (double& value : x) value = std::max(value, 0.0);
    }
    return x;
  }

 private:
  struct Layer {
    Matrix weights;                    // (outputs, inputs); empty: none
    std::vector<double> scale, shift;  // empty: none
    bool is_relu = false;
  };

  static Result<std::vector<double>> numbers_or(const TrainedFile& file, const Value& layer,
                                                std::string_view key, size_t count, double value) {
    const auto found = layer.find(key);
    if (!found || found->is_null()) return std::vector<double>(count, value);
    return file.numbers(layer, key, count);
  }

  static Result<Layer> read_layer(const TrainedFile& file, const Value& value, size_t width) {
    const std::string_view type = file.text(value, "type");
    Layer out;
    if (type == "linear") {
      SIGNALBOX_TRY(out.weights, file.matrix(value, "weight", width));
      SIGNALBOX_TRY(out.shift, numbers_or(file, value, "bias", out.weights.rows, 0));
      return out;
    }
    if (type == "batch_norm") {
      SIGNALBOX_TRY(out.scale, numbers_or(file, value, "weight", width, 1));
      SIGNALBOX_TRY(out.shift, numbers_or(file, value, "bias", width, 0));
      SIGNALBOX_TRY(const auto means, numbers_or(file, value, "running_mean", width, 0));
      SIGNALBOX_TRY(const auto variances, numbers_or(file, value, "running_var", width, 1));
      SIGNALBOX_TRY(const double epsilon, file.number(value, "eps", 1e-5));
      for (size_t i = 0; i < width; ++i) {
        if (!(variances[i] + epsilon > 0)) return file.wrong("running_var", "expected variances");
        out.scale[i] /= std::sqrt(variances[i] + epsilon);
        out.shift[i] -= means[i] * out.scale[i];
      }
      return out;
    }
    out.is_relu = type == "relu";
    if (!out.is_relu && type != "dropout")
      return file.wrong("layers", "expected the types linear, relu, batch_norm or dropout");
    return out;
  }

  std::vector<Layer> layers_;
};

}  // namespace

Made trained(std::string_view method, std::string json, std::string_view name, int32_t dim) {
  auto document = json::Document::parse(std::move(json), {.bytes = kTrainedBytesMax});
  if (!document) return fail_in(name, std::move(document).error());
  const TrainedFile file(name, document->root());
  const auto width = static_cast<size_t>(dim);
  if (const std::string_view found = file.text(file.root(), "algorithm"); found != method)
    return file.wrong("algorithm", fmt::format("expected \"{}\"", method));
  Result<std::unique_ptr<const TrainedModel>> model =
      method == "kmeans"        ? Clusters::read(file, width)
      : method == "mlp"         ? Perceptron::read(file, width)
      : file.root().find("svc") ? EachAgainstEach::read(file, width)
                                : OneAgainstAll::read(file, width);
  if (!model) return tl::unexpected<Error>(std::move(model).error());
  return std::make_unique<TrainedSelector>(method, *std::move(model));
}

}  // namespace signalbox::selection
