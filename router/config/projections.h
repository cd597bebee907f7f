#pragma once
// `routing.projections` as structs: signals derived from others. Partitions let one of several
// signals win, scores add signals up, mappings cut a score into named bands.

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
  std::vector<std::string> members;  // names of signals, mostly of embeddings or domains
  std::string fallback;              // `default`: who wins when none matches
};

struct ScoreInput {
  enum class Source { kBinary, kConfidence, kScore, kRaw };
  std::string type;  // of the signal, or "kb_metric"
  std::string name;
  std::string kb;      // of kb_metric
  std::string metric;  // of kb_metric
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
  std::string source;  // of scores
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
