#pragma once
// The plan of a workflow: from the configuration, or from the reply of a model that plans.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "router/config/algorithm.h"

namespace signalbox::looper {

struct WorkflowStep {
  std::string name;
  std::vector<std::string> models;
  std::string prompt;  // "": the name alone describes the step
  /// Names of earlier steps, or labels of single results, that this step sees; nullopt: all.
  std::optional<std::vector<std::string>> access = {};
};

struct WorkflowPlan {
  std::vector<WorkflowStep> steps;
  std::string final_model;   // "": the first result of the last step is the answer
  std::string final_prompt;  // "": the built-in one
};

/// Bounds of a plan that a model makes.
struct PlanLimits {
  size_t steps = 16;
  size_t models = 16;  // of a step
};

/// Reads the first JSON object in a text: {"steps": [{"name"?, "models": [...], "prompt"?,
/// "access_list"?}]}. kInvalid if it breaks the limits or names a model that is not allowed.
Result<WorkflowPlan> read_plan(std::string_view text, std::span<const std::string> allowed,
                               const PlanLimits& limits);

/// The plan of mode `static`. Errors name the key.
Result<WorkflowPlan> static_plan(const config::Workflows& settings,
                                 std::span<const std::string> allowed);

}  // namespace signalbox::looper
