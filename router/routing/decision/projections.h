#pragma once
// Signals that are built from other signals: in a partition one member wins, scores add signals up,
// and mappings split a score into named ranges. Pure, and computed on intervals: an output is known
// as soon as no unknown signal can move the score across a bound.

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/routing.h"
#include "router/routing/decision/fact.h"

namespace signalbox::decision {

/// The number of a signal by its type and name, or kNoSignal. An empty type means any.
using Find = std::function<uint32_t(std::string_view type, std::string_view name)>;

/// A score certainly lies between these.
struct Bounds {
  double low, high;
};

/// Immutable and thread-safe.
class Projections {
 public:
  /// Outputs get the numbers from `first_output` on, in the order of the mappings. kInvalid for
  /// scores that depend on each other. `projections` must outlive the result.
  static Result<Projections> create(const config::Projections& projections, const Find& find,
                                    uint32_t first_output);

  /// Only the matching member with the highest confidence remains a match; with softmax_exclusive
  /// its confidence becomes its share of softmax(confidences / temperature). If no member matches,
  /// the default does, with a confidence of 1. Until every member is known, only the members that
  /// certainly do not match have a value.
  void resolve_partitions(std::span<Value> values) const;

  /// Writes the scores (scores()) and the values of the outputs. An unavailable signal counts as
  /// not matching. Confidence is 1 / (1 + exp(-slope * distance to the nearest bound of the
  /// range)).
  void evaluate(std::span<const Fact> facts, std::span<Value> values,
                std::span<Bounds> scores) const;

  /// Calls depends(number, on) for every signal `on` that the value of `number` depends on.
  void for_each_dependency(const std::function<void(uint32_t number, uint32_t on)>& depends) const;

  /// Calls visit(input, number of its signal) for each input of a score. The number is kNoSignal
  /// for a missing signal and for another score.
  void for_each_input(
      size_t score,
      const std::function<void(const config::ScoreInput& input, uint32_t number)>& visit) const;

  size_t scores() const { return scores_.size(); }
  const config::Score& score(size_t index) const { return *scores_[index].config; }
  uint32_t outputs() const { return outputs_; }
  /// The number of an output by its name, or kNoSignal.
  uint32_t output(std::string_view name) const;
  /// Calls visit(number, output, index of its score) for every output.
  void for_each_output(
      const std::function<void(uint32_t number, std::string_view name, size_t score)>& visit) const;

 private:
  struct Partition {
    const config::Partition* config;
    std::vector<uint32_t> members;
    uint32_t fallback;
  };
  struct Input {
    const config::ScoreInput* config;
    uint32_t signal;  // kNoSignal: counts as a miss
    int32_t score;    // if type is projection: the index of another score, or -1
  };
  struct Mapping {
    const config::Mapping* config;
    uint32_t first;  // number of its first output
  };
  struct Score {
    const config::Score* config;
    std::vector<Input> inputs;
    std::vector<Mapping> mappings;
  };

  Result<void> order(const config::Projections& projections, const Find& find);
  Input input_of(const config::ScoreInput& config, const Find& find) const;
  std::vector<std::vector<uint32_t>> needed_signals() const;
  static void forget_matches(const Partition& partition, std::span<Value> values);
  static double softmax_share(const Partition& partition, uint32_t winner,
                              std::span<const Value> values);
  static void resolve(const Partition& partition, std::span<Value> values);
  static Bounds bounds_of(const Input& input, std::span<const Fact> facts,
                          std::span<const Value> values, std::span<const Bounds> scores);

  std::vector<Partition> partitions_;
  std::vector<Score> scores_;  // each after those it depends on
  uint32_t outputs_ = 0;
};

}  // namespace signalbox::decision
