#pragma once
// Runs a task on its rows with one model, or with two models to compare.

#include <string>
#include <vector>

#include "tools/eval/evaluation.h"
#include "tools/eval/tasks.h"
#include "tools/options.h"

namespace signalbox::tools {

struct EvalRequest {
  const EvalTask* task = nullptr;
  RowOptions rows = {};
  EvalOptions options = {};
  std::vector<ModelChoice> models = {};  // one or two
  bool rules = false;                    // join a tagger's spans with those that rules find
  ModelChoice hallucination = {},
              inference = {};  // for kAnswer, instead of `models`; no name: not used
};

struct EvalOutcome {
  EvalRequest request = {};  // includes the positive labels that were selected
  LabelledRows rows = {};
  std::vector<Evaluated> evaluated = {};  // parallel to request.models
};

/// Errors: those of reading rows and of opening and running models.
Result<EvalOutcome> evaluate_models(EvalRequest request);

/// to_json: one object and a line feed; to_tables: tables.
std::string to_json(const EvalOutcome& outcome);
std::string to_tables(const EvalOutcome& outcome);

}  // namespace signalbox::tools
