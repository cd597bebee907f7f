#pragma once
// A model over rows, one at a time and timed: what every kind of evaluation shares.

#include <functional>
#include <span>

#include "tools/eval/evaluation.h"

namespace signalbox::tools {

/// What the subject's head says to one row. The only place that asks a model with a head.
Result<engine::Answer> ask(const Subject& subject, const LabelledRow& row);

/// Calls `one` for every row, the first one once more before the clock runs: it makes scratch and
/// reads the weights. Errors name the row's place.
Result<Times> timed(const LabelledRows& rows, const EvalOptions& options,
                    const std::function<Result<void>(size_t row)>& one);

/// One a kind of rows: what check() and evaluate() call.
Result<void> check_classifier(const Subject& subject, const LabelledRows& rows,
                              const EvalOptions& options);
Result<Evaluated> evaluate_classifier(const Subject& subject, const LabelledRows& rows,
                                      const EvalOptions& options);
Result<Evaluated> evaluate_tagger(const Subject& subject, const LabelledRows& rows,
                                  const EvalOptions& options);
Result<Evaluated> evaluate_embedding(const Subject& subject, const LabelledRows& rows,
                                     const EvalOptions& options);

/// Values and intervals.
std::vector<Measured> measured(std::span<const Figure> figures, size_t rows, uint32_t seed);

}  // namespace signalbox::tools
