// Examples are stored in one array and compared by a linear scan. With ten thousand of them this
// takes a millisecond less than embedding the request.

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json.h"
#include "router/routing/selection/algorithms.h"
#include "router/routing/selection/scores.h"

namespace signalbox::selection {
namespace {

constexpr size_t kBytesMax = size_t{256} << 20;
constexpr uint32_t kDefaultNeighbours = 5;
constexpr int64_t kNeighboursMax = 10'000;
constexpr double kQualityShare = 0.9, kSpeedShare = 0.1;
constexpr double kUnknownQuality = 0.5, kLeastQuality = 0.01;

struct Example {
  std::string model;
  double vote = 0;
};

class Knn final : public Selector {
 public:
  Knn(std::vector<float> vectors, std::vector<Example> examples, uint32_t k)
      : vectors_(std::move(vectors)), examples_(std::move(examples)), k_(k) {}
  std::string_view method() const override { return "knn"; }
  bool needs_query() const override { return true; }

  Result<Choice> choose(std::span<const Candidate> candidates,
                        const SelectionInputs& inputs) const override {
    if (inputs.query.empty())
      return Choice{0, "the first of its models: the request was not embedded"};
    std::map<std::string_view, size_t> index;
    for (size_t i = 0; i < candidates.size(); ++i) index.emplace(candidates[i].model->name, i);
    std::vector<std::pair<float, size_t>> near;  // squared distance, example
    for (size_t i = 0; i < examples_.size(); ++i) {
      if (index.contains(examples_[i].model)) near.emplace_back(distance(i, inputs.query), i);
    }
    if (near.empty())
      return Choice{0, "the first of its models: the selector has examples of none of them"};
    const size_t k = std::min<size_t>(k_, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(k), near.end());
    Scores votes(candidates.size());
    for (size_t n = 0; n < k; ++n) {
      const Example& example = examples_[near[n].second];
      auto& vote = votes[index.find(example.model)->second];
      vote = vote.value_or(0) + example.vote;
    }
    double all = 0;
    for (const auto& vote : votes) all += vote.value_or(0);
    Scores shares(votes.size(), 0.0);
    for (size_t i = 0; i < votes.size() && all > 0; ++i) shares[i] = votes[i].value_or(0) / all;
    return Choice{best_of(votes),
                  fmt::format("votes of {} examples: {}", k, describe_scores(candidates, votes)),
                  shares};
  }

 private:
  float distance(size_t example, std::span<const float> query) const {
    const float* vector = vectors_.data() + example * query.size();
    float sum = 0;
    for (size_t i = 0; i < query.size(); ++i) {
      const float difference = vector[i] - query[i];
      sum += difference * difference;
    }
    return sum;
  }

  std::vector<float> vectors_;  // (examples, dim)
  std::vector<Example> examples_;
  uint32_t k_;
};

class Reader {
 public:
  Reader(std::string_view name, const json::Value& root) : name_(name), root_(root) {}

  Result<uint32_t> neighbours(uint32_t requested) const {
    if (requested > 0) return requested;
    const auto found = root_.find("k");
    if (!found) return kDefaultNeighbours;
    const auto k = found->integer();
    if (!k || *k < 1 || *k > kNeighboursMax)
      return wrong("k", fmt::format("expected an integer from 1 to {}", kNeighboursMax));
    return static_cast<uint32_t>(*k);
  }

  Result<std::vector<std::string>> labels() const {
    SIGNALBOX_TRY(const json::Value list, array("labels"));
    std::vector<std::string> out;
    for (const json::Value& label : list.items()) {
      if (!label.is_string()) return wrong("labels", "expected strings");
      out.emplace_back(label.text());
    }
    return out;
  }

  /// (count, dim)
  Result<std::vector<float>> vectors(size_t count, int32_t dim) const {
    SIGNALBOX_TRY(const json::Value list, array("embeddings"));
    std::vector<float> out;
    size_t rows = 0;
    for (const json::Value& row : list.items()) {
      size_t columns = 0;
      for (const json::Value& each : row.items()) {
        SIGNALBOX_TRY(const double value, number("embeddings", each));
        out.push_back(static_cast<float>(value));
        ++columns;
      }
      if (columns != static_cast<size_t>(dim)) {
        return wrong(fmt::format("embeddings[{}]", rows),
                     fmt::format("expected {} numbers, the embedding model's dimension, found {}",
                                 dim, columns));
      }
      ++rows;
    }
    if (rows != count)
      return wrong("embeddings",
                   fmt::format("expected one for each label, {}, found {}", count, rows));
    return out;
  }

  /// (count), or empty if the model has none.
  Result<std::vector<double>> numbers(std::string_view key, size_t count) const {
    std::vector<double> out;
    const auto list = root_.find(key);
    if (!list) return out;
    for (const json::Value& each : list->items()) {
      SIGNALBOX_TRY(const double value, number(key, each));
      out.push_back(value);
    }
    if (!out.empty() && out.size() != count)
      return wrong(key,
                   fmt::format("expected one for each label, {}, found {}", count, out.size()));
    return out;
  }

 private:
  tl::unexpected<Error> wrong(std::string_view key, std::string_view what) const {
    return fail(Code::kInvalid, "{}: {}: {}", name_, key, what);
  }
  Result<json::Value> array(std::string_view key) const {
    const auto found = root_.find(key);
    if (!found || !found->is_array()) return wrong(key, "expected an array");
    return *found;
  }
  Result<double> number(std::string_view key, const json::Value& value) const {
    const auto out = value.number();
    if (!out || std::abs(*out) > 1e30) return wrong(key, "expected numbers");
    return *out;
  }

  std::string_view name_;
  json::Value root_;
};

// Speed is 1 for the fastest of all examples and 0 for the slowest.
std::vector<Example> examples_of(std::vector<std::string> labels,
                                 const std::vector<double>& qualities,
                                 const std::vector<double>& latencies) {
  double low = 0, range = 1;
  if (!latencies.empty()) {
    const auto [least, most] = std::minmax_element(latencies.begin(), latencies.end());
    low = *least;
    range = std::max(*most - *least, 1.0);
  }
  std::vector<Example> out;
  for (size_t i = 0; i < labels.size(); ++i) {
    const double quality =
        qualities.empty() ? kUnknownQuality : std::max(qualities[i], kLeastQuality);
    const double speed = latencies.empty() ? 0.5 : 1 - (latencies[i] - low) / range;
    out.push_back({std::move(labels[i]), kQualityShare * quality + kSpeedShare * speed});
  }
  return out;
}

}  // namespace

Made knn(std::string json, std::string_view name, uint32_t k, int32_t dim) {
  auto document = json::Document::parse(std::move(json), {.bytes = kBytesMax});
  if (!document) return fail_in(name, std::move(document).error());
  const Reader reader(name, document->root());
  SIGNALBOX_TRY(const uint32_t neighbours, reader.neighbours(k));
  SIGNALBOX_TRY(std::vector<std::string> labels, reader.labels());
  if (labels.empty()) return fail(Code::kInvalid, "{}: labels: expected at least one", name);
  const size_t count = labels.size();
  SIGNALBOX_TRY(std::vector<float> vectors, reader.vectors(count, dim));
  SIGNALBOX_TRY(const std::vector<double> qualities, reader.numbers("qualities", count));
  SIGNALBOX_TRY(const std::vector<double> latencies, reader.numbers("latencies", count));
  return std::make_unique<Knn>(std::move(vectors),
                               examples_of(std::move(labels), qualities, latencies), neighbours);
}

}  // namespace signalbox::selection
