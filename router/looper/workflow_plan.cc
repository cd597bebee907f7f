// A model wrote the plan, so it may contain anything. Every list in it is bounded.

#include "router/looper/workflow_plan.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_writer.h"

namespace signalbox::looper {
namespace {

using json::Value;

constexpr size_t kTextBytesMax = 65'536;
constexpr size_t kAccessMax = 64;

Result<std::string> optional_text(const Value& object, std::string_view key) {
  const auto found = object.find(key);
  if (!found || found->is_null()) return std::string();
  if (!found->is_string()) return fail(Code::kInvalid, "{}: expected a string", key);
  if (found->text().size() > kTextBytesMax)
    return fail(Code::kInvalid, "{}: longer than {} bytes", key, kTextBytesMax);
  return std::string(found->text());
}

Result<std::vector<std::string>> text_list(const Value& object, std::string_view key, size_t most) {
  const auto found = object.find(key);
  if (!found || !found->is_array()) return fail(Code::kInvalid, "{}: expected a list", key);
  std::vector<std::string> out;
  for (const Value& each : found->items()) {
    if (!each.is_string()) return fail(Code::kInvalid, "{}: expected strings", key);
    if (out.size() == most) return fail(Code::kInvalid, "{}: more than {} items", key, most);
    out.emplace_back(each.text());
  }
  return out;
}

Result<WorkflowStep> read_step(const Value& value, size_t number,
                               std::span<const std::string> allowed, const PlanLimits& limits) {
  if (!value.is_object()) return fail(Code::kInvalid, "expected an object");
  WorkflowStep out;
  SIGNALBOX_TRY(out.name, optional_text(value, "name"));
  if (out.name.empty()) out.name = fmt::format("step{}", number + 1);
  SIGNALBOX_TRY(out.prompt, optional_text(value, "prompt"));
  SIGNALBOX_TRY(out.models, text_list(value, "models", limits.models));
  if (out.models.empty()) return fail(Code::kInvalid, "models: expected at least one");
  for (const std::string& model : out.models) {
    if (std::find(allowed.begin(), allowed.end(), model) == allowed.end())
      return fail(Code::kInvalid, "models: {} is not one of modelRefs", json::quote_briefly(model));
  }
  const auto access = value.find("access_list");
  if (access && !access->is_null()) {
    SIGNALBOX_TRY(auto names, text_list(value, "access_list", kAccessMax));
    out.access = std::move(names);
  }
  return out;
}

Result<std::vector<WorkflowStep>> read_steps(const Value& list, std::string_view where,
                                             std::span<const std::string> allowed,
                                             const PlanLimits& limits) {
  if (!list.is_array()) return fail(Code::kInvalid, "{}: expected a list", where);
  std::vector<WorkflowStep> out;
  for (const Value& each : list.items()) {
    if (out.size() == limits.steps)
      return fail(Code::kInvalid, "{}: more than {} steps", where, limits.steps);
    auto step = read_step(each, out.size(), allowed, limits);
    if (!step) return fail_in(fmt::format("{}[{}]", where, out.size()), std::move(step).error());
    out.push_back(*std::move(step));
  }
  if (out.empty()) return fail(Code::kInvalid, "{}: expected at least one step", where);
  return out;
}

}  // namespace

Result<WorkflowPlan> read_plan(std::string_view text, std::span<const std::string> allowed,
                               const PlanLimits& limits) {
  const size_t open = text.find('{');
  const size_t close = text.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return fail(Code::kInvalid, "the plan is not JSON");
  SIGNALBOX_TRY(const json::Document document,
                json::Document::parse(std::string(text.substr(open, close + 1 - open))));
  const auto steps = document.root().find("steps");
  if (!steps) return fail(Code::kInvalid, "the plan has no steps");
  WorkflowPlan out;
  SIGNALBOX_TRY(out.steps, read_steps(*steps, "steps", allowed, limits));
  return out;
}

Result<WorkflowPlan> static_plan(const config::Workflows& settings,
                                 std::span<const std::string> allowed) {
  if (settings.roles.empty())
    return fail(Code::kInvalid, "algorithm.workflows.roles: mode static needs at least one role");
  // A document is an object or an array.
  const auto roles = json::Document::parse(settings.roles);
  if (!roles) return fail(Code::kInvalid, "algorithm.workflows.roles: expected a list");
  WorkflowPlan out;
  SIGNALBOX_TRY(out.steps, read_steps(roles->root(), "algorithm.workflows.roles", allowed, {}));
  if (settings.final_step.empty()) return out;
  const auto last = json::Document::parse(settings.final_step);
  if (!last || !last->root().is_object())
    return fail(Code::kInvalid, "algorithm.workflows.final: expected an object");
  SIGNALBOX_TRY(out.final_model, optional_text(last->root(), "model"));
  SIGNALBOX_TRY(out.final_prompt, optional_text(last->root(), "prompt"));
  return out;
}

}  // namespace signalbox::looper
