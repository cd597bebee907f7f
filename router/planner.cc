// Edits are collected and applied once; what the plan leaves alone goes out as it came.

#include "router/planner.h"

#include <algorithm>

#include "base/json_writer.h"
#include "router/plugins/edit.h"
#include "router/plugins/object_editor.h"
#include "router/plugins/reasoning.h"
#include "router/plugins/system_prompt.h"

namespace signalbox::router {
namespace {

tl::unexpected<Error> unknown_model(const config::Config& config, std::string_view name) {
  std::string known;
  for (const std::string& each : config.auto_model_names)
    known += (known.empty() ? "" : ", ") + each;
  for (const config::Entrypoint& entrypoint : config.entrypoints) {
    for (const std::string& each : entrypoint.model_names) known += ", " + each;
  }
  for (const config::Model& model : config.providers.models) known += ", " + model.name;
  return fail(Code::kNotFound, "model: unknown model \"{}\" (known: {})", name, known);
}

// Reasoning can be switched off where there is none, and on only where the family says how.
void choose_model(const config::Providers& providers, const config::ModelRef& ref, Plan& plan) {
  plan.model = providers.find(ref.model);
  SIGNALBOX_CHECK(plan.model != nullptr);
  if (!plan.model->reasoning_family.empty() || ref.use_reasoning == false)
    plan.reasoning = ref.use_reasoning;
  if (plan.reasoning == true) {
    plan.reasoning_effort =
        ref.reasoning_effort.empty() ? providers.default_reasoning_effort : ref.reasoning_effort;
  }
}

std::string edited(const config::Providers& providers, const ChatRequest& request, const Plan& plan,
                   const config::Decision* decision) {
  const json::Value root = request.document.root();
  std::vector<Edit> edits;
  ObjectEditor body(root);
  if (request.model != plan.model->provider_model_id)
    body.set("model", json::quote(plan.model->provider_model_id));
  if (plan.injected_system_prompt)
    add_system_prompt(*decision->system_prompt, *root.find("messages"), edits);
  if (plan.reasoning && !plan.model->reasoning_family.empty()) {
    const config::ReasoningFamily& family =
        providers.reasoning_families.at(plan.model->reasoning_family);
    set_reasoning(family, *plan.model, *plan.reasoning, plan.reasoning_effort, root, body, edits);
  }
  body.finish(edits);
  return apply(request.document.source(), std::move(edits));
}

}  // namespace

Result<Plan> plan_bypass(const config::Config& config, const ChatRequest& request) {
  Plan plan;
  plan.bypassed = true;
  plan.model = config.providers.find(request.model);
  if (plan.model == nullptr) return unknown_model(config, request.model);
  plan.body = edited(config.providers, request, plan, nullptr);
  return plan;
}

Result<Plan> plan_routed(const config::Config& config, const ChatRequest& request,
                         const config::Decision* decision, double confidence) {
  Plan plan;
  plan.model = config.providers.find(config.providers.default_model);
  if (decision != nullptr) {
    if (!decision->missing_plugins.empty()) {
      return fail(Code::kUnsupported, "decision \"{}\" needs the plugin {}, which is not built yet",
                  decision->name, decision->missing_plugins.front());
    }
    plan.decision = decision->name;
    plan.category = decision->name;
    plan.confidence = confidence;
    if (!decision->model_refs.empty())
      choose_model(config.providers, decision->model_refs.front(), plan);
    plan.injected_system_prompt = decision->system_prompt && decision->system_prompt->enabled;
  }
  SIGNALBOX_CHECK(plan.model != nullptr);
  plan.body = edited(config.providers, request, plan, decision);
  return plan;
}

}  // namespace signalbox::router
