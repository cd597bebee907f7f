#pragma once
// The tasks of `signalbox eval`: the kind of their rows, and their defaults.

#include <span>
#include <string_view>

#include "tools/eval/rows.h"

namespace signalbox::tools {

struct EvalTask {
  std::string_view name;  // "jailbreak"
  RowKind rows;
  std::string_view model;  // used if none is named; empty: a model must be named
  double threshold = 0;    // lowest score that the router counts by default; 0: none
  /// Labels of the positive class, as this project's models and published models name them. The
  /// first one that the model has is used.
  std::span<const std::string_view> positive = {};
};

std::span<const EvalTask> eval_tasks();

/// Returns null for an unknown name.
const EvalTask* eval_task(std::string_view name);

}  // namespace signalbox::tools
