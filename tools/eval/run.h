#pragma once
// Runs a model over rows one at a time and measures the time; shared by all kinds of evaluation.

#include <functional>
#include <span>

#include "tools/eval/evaluation.h"

namespace signalbox::tools {

/// Returns the scores of the subject's head for one row: a long text is read in windows, as the
/// router does; a pair in one pass.
Result<std::vector<float>> classify_row(const Subject& subject, const LabelledRow& row);

/// Calls `one` for every row, and once more for the first row before timing starts, because the
/// first call allocates scratch memory and reads the weights. Errors name the row's place.
Result<Times> timed(const LabelledRows& rows, const EvalOptions& options,
                    const std::function<Result<void>(size_t row)>& one);

/// One function per kind of rows, called by check() and evaluate().
Result<void> check_classifier(const Subject& subject, const LabelledRows& rows,
                              const EvalOptions& options);
Result<Evaluated> evaluate_classifier(const Subject& subject, const LabelledRows& rows,
                                      const EvalOptions& options);
Result<Evaluated> evaluate_tagger(const Subject& subject, const LabelledRows& rows,
                                  const EvalOptions& options);
Result<Evaluated> evaluate_embedding(const Subject& subject, const LabelledRows& rows,
                                     const EvalOptions& options);

/// Computes the values and intervals of figures.
std::vector<Measured> compute_figures(std::span<const Figure> figures, size_t rows, uint32_t seed);

}  // namespace signalbox::tools
