#pragma once
// `routing.projections` as structs: signals derived from others. In a partition one of several
// signals wins, a score is a weighted sum of signals, and a mapping divides a score into named
// ranges.

#include <optional>
#include <string>
#include <vector>

#include "router/config/signals.h"

namespace signalbox::config {

struct Partition {
  enum class Semantics { kExclusive, kSoftmaxExclusive };
  std::string name;
  Semantics semantics = Semantics::kExclusive;
  double temperature = 1;
  std::vector<std::string> members;  // names of signals, usually embeddings or domains
  std::string fallback;              // `default`: the winner if none matches
};

struct ScoreInput {
  enum class Source { kBinary, kConfidence, kScore, kRaw };
  std::string type;  // type of the signal, or "kb_metric"
  std::string name;
  std::string kb;      // for kb_metric
  std::string metric;  // for kb_metric
  double weight = 1;
  Source value_source = Source::kBinary;
  double match = 1;
  double miss = 0;
};

struct Score {
  std::string name;
  std::string method = "weighted_sum";
  std::vector<ScoreInput> inputs;
};

struct Mapping {
  enum class Method { kThresholdBands, kMultiEmit };
  struct Calibration {
    std::string method;
    double slope = 12;
  };
  struct Output {
    std::string name;
    Predicate range;
  };
  std::string name;
  std::string source;  // name of a score
  Method method = Method::kThresholdBands;
  Calibration calibration;
  std::vector<Output> outputs;
};

struct Projections {
  std::vector<Partition> partitions;
  std::vector<Score> scores;
  std::vector<Mapping> mappings;
};

}  // namespace signalbox::config
