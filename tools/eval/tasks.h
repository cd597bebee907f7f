#pragma once
// The tasks that `signalbox eval` knows: what their rows hold, and what is usual for them.

#include <span>
#include <string_view>

#include "tools/eval/rows.h"

namespace signalbox::tools {

struct EvalTask {
  std::string_view name;  // "jailbreak"
  RowKind rows;
  std::string_view model;  // asked when none is named; empty: one must be
  double threshold = 0;    // that the router counts answers from unless told otherwise; 0: none
  /// Labels to find, as this project's models and published ones call them: the first that a model
  /// has.
  std::span<const std::string_view> positive = {};
};

std::span<const EvalTask> eval_tasks();

/// Null for a name that is none.
const EvalTask* eval_task(std::string_view name);

}  // namespace signalbox::tools
