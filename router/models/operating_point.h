#pragma once
// The thresholds of a classifier whose labels are independent, from a file beside its weights.

#include <string>
#include <vector>

#include "base/error.h"
#include "router/config/signals.h"

namespace signalbox::models {

struct LabelThresholds {
  std::vector<std::string> labels;  // in the order of the model's outputs
  std::vector<float> least;         // (labels): the score from which the label matches
};

/// Reads version 2 or 3 of the Semantic Router's operating points. `directory` is that of the
/// model. Errors: those of MappedFile::open(); kInvalid for a file with another SHA-256 than the
/// configuration names, or with scores that mean something else.
Result<LabelThresholds> read_thresholds(const config::OperatingPoint& file,
                                        const std::string& directory);

}  // namespace signalbox::models
