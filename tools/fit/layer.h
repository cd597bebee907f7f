#pragma once
// The layer of a head from vectors and their classes: how strong a penalty, and what its scores are
// divided by, is chosen on rows that it does not learn from.

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

/// The layer for both parts. Penalty and temperature are those that do best on the second when it
/// learns from the first alone; with `folds`, on the rows of each fold of both when it learns from
/// the others, all rows together: a handful alone would say next to nothing. Fills in what `report`
/// has of that.
Result<LinearClassifier> fit_layer(const FitOptions& options, int32_t classes, int32_t folds,
                                   Vectors train, Vectors validation, engine::Workers& workers,
                                   FitReport& report);

}  // namespace signalbox::tools
