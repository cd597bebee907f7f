#pragma once
// A task on its rows by one model, or by two to compare.

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
  bool rules = false;                    // join spans of a tagger with those that rules find
  ModelChoice hallucination = {}, inference = {};  // of kAnswer, instead; no name: none
};

struct EvalOutcome {
  EvalRequest request = {};  // with the positive labels that were chosen
  LabelledRows rows = {};
  std::vector<Evaluated> evaluated = {};  // as request.models
};

/// Errors are those of reading rows and of opening and asking models.
Result<EvalOutcome> evaluate_models(EvalRequest request);

/// An object and a line feed; tables.
std::string to_json(const EvalOutcome& outcome);
std::string to_words(const EvalOutcome& outcome);

}  // namespace signalbox::tools
