#pragma once
// Fits a head's linear layer to vectors and their classes. The strength of the penalty and the
// temperature are chosen on rows that the layer does not learn from.

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "engine/parallel.h"
#include "tools/fit/fit.h"
#include "tools/fit/softmax_regression.h"

namespace signalbox::tools {

struct Vectors {
  int32_t dim = 0;
  std::vector<float> x;         // (rows, dim)
  std::vector<int32_t> labels;  // (rows)
  std::vector<int32_t> folds;   // (rows): Example::fold of its text
};

/// Returns a layer fitted to both parts. Penalty and temperature are those that perform best on
/// `validation` after training on `train` alone. With `folds`, they are those that perform best
/// over all rows, each tested by a layer trained on the other folds, because a handful of
/// validation rows would prove little. Fills in the corresponding members of `report`.
Result<LinearClassifier> fit_layer(const FitOptions& options, int32_t classes, int32_t folds,
                                   Vectors train, Vectors validation, engine::Workers& workers,
                                   FitReport& report);

}  // namespace signalbox::tools
