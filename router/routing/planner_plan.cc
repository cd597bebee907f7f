// plan(), the planner's second step: chooses one of the candidates and edits the body for it. Edits
// are collected and applied once; bytes that the plan does not change are sent as they came.

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/counted.h"
#include "base/json_writer.h"
#include "router/config/access.h"
#include "router/plugins/rag/file_search.h"
#include "router/plugins/reasoning/reasoning.h"
#include "router/plugins/request_params/request_params.h"
#include "router/plugins/server_family.h"
#include "router/plugins/tools/tool_history.h"
#include "router/plugins/tools/tools.h"
#include "router/routing/demands.h"
#include "router/routing/planner.h"
#include "router/routing/selection/abilities.h"
#include "router/routing/selection/pii_policy.h"
#include "router/splice/edit.h"
#include "router/splice/object_editor.h"

namespace signalbox::routing {
namespace {

tl::unexpected<Error> unknown_model(const config::Config& config, std::string_view name) {
  const auto answers_chats = [](const config::Entrypoint& each) {
    return each.api == config::Entrypoint::Api::kChat;
  };
  const auto has_name = [&](const config::Entrypoint& each) {
    return answers_chats(each) &&
           std::ranges::find(each.model_names, name) != each.model_names.end();
  };
  if (std::ranges::any_of(config.entrypoints, has_name))
    return fail(Code::kNotFound, "model: no rule of the entrypoint {} matches the request",
                json::quote_briefly(name));
  std::string known;
  for (const std::string& each : config.auto_model_names)
    known += (known.empty() ? "" : ", ") + each;
  for (const config::Entrypoint& entrypoint : config.entrypoints) {
    if (!answers_chats(entrypoint)) continue;
    for (const std::string& each : entrypoint.model_names) known += ", " + each;
  }
  for (const config::Model& model : config.providers.models) {
    if (model.api_format != config::Model::ApiFormat::kSystemOne) known += ", " + model.name;
  }
  return fail(Code::kNotFound, "model: unknown model {} (known: {})", json::quote_briefly(name),
              known);
}

Plan::Guarded guards_of(const std::vector<MatchedCondition>& matched) {
  Plan::Guarded out;
  for (const MatchedCondition& condition : matched) {
    if (!condition.unsupported_language.empty()) {
      out.unsupported_language = condition.unsupported_language;
      continue;
    }
    if (condition.type == "jailbreak" &&
        (out.jailbreak.empty() || condition.confidence > out.jailbreak_confidence)) {
      out.jailbreak = condition.name;
      out.jailbreak_confidence = condition.confidence;
    }
    if (condition.type != "pii") continue;
    out.pii = true;
    for (const std::string_view type : condition.evidence) {
      if (std::find(out.pii_types.begin(), out.pii_types.end(), type) == out.pii_types.end())
        out.pii_types.emplace_back(type);
    }
  }
  if (!out.jailbreak.empty()) out.unsupported_language = {};  // the attack is the reason
  return out;
}

/// Adds what context_compression leaves out.
void add_edits(const std::optional<plugins::CompressedContext>& context,
               std::vector<splice::Edit>& edits) {
  if (context) edits.insert(edits.end(), context->edits.begin(), context->edits.end());
}

/// The effort that the client requests, or else `default_effort`.
std::string effort_of(const json::Value& root, std::string_view default_effort) {
  const auto effort = root.find("reasoning_effort");
  const bool has_effort = effort && effort->is_string() && !effort->text().empty();
  return std::string(has_effort ? effort->text() : default_effort);
}

/// True if the router needs the usage of a stream, and its client does not.
bool takes_usage(const config::Config& config, const request::ChatRequest& request,
                 const Plan& plan) {
  return config.spending && config.spending->request_usage && request.stream && !plan.native &&
         plan.model->api_format == config::Model::ApiFormat::kOpenAi && !request.requests_usage();
}

/// Requests the usage of a stream whose client does not want it.
void request_usage(const json::Value& root, splice::ObjectEditor& body,
                   std::vector<splice::Edit>& edits) {
  const auto options = root.find("stream_options");
  if (!options || !options->is_object()) {
    body.set("stream_options", R"({"include_usage":true})");
    return;
  }
  splice::ObjectEditor editor(*options);
  editor.set("include_usage", "true");
  editor.finish(edits);
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string reasons_of(std::span<const Plan::LeftOut> left_out) {
  std::string out;
  for (const Plan::LeftOut& each : left_out)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", each.model, each.reason);
  return out;
}

}  // namespace

// Removes the models that have failed. If none is left, the candidates become the fallbacks that
// the file names, except after an action: it names every model that may get the request. Returns
// true for fallbacks: no selector knows them, so they are tried in the order of the file.
bool Planner::remove_failed(std::span<const std::string_view> failed,
                            const config::Decision* decision, Candidates& candidates) const {
  const auto has_failed = [failed](std::string_view name) {
    return std::find(failed.begin(), failed.end(), name) != failed.end();
  };
  std::erase_if(candidates, [&](const auto& each) { return has_failed(each.model->name); });
  const bool acts = decision != nullptr && decision->action.is_set();
  if (acts || !candidates.empty()) return false;
  for (const std::string_view name : failed) {
    const config::Model* model = config_.providers.find(name);
    if (model == nullptr || !model->reliability) continue;
    for (const std::string& other : model->reliability->fallback_models) {
      const auto ref = std::find_if(plain_refs_.begin(), plain_refs_.end(),
                                    [&](const auto& each) { return each.model == other; });
      if (ref != plain_refs_.end() && !has_failed(other)) candidates.push_back(candidate(*ref));
    }
  }
  return true;
}

// Removes models that the client's key may not use.
void Planner::remove_forbidden(std::span<const std::string> allowed, Candidates& candidates,
                               Plan& plan) {
  if (allowed.empty()) return;
  std::erase_if(candidates, [&](const selection::Candidate& each) {
    const std::string& name = each.model->name;
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return false;
    plan.left_out.push_back({name, "the client's key may not use it"});
    return true;
  });
  if (!candidates.empty()) return;
  plan.path = Plan::Path::kBlocked;
  plan.guarded.forbidden = true;
  plan.message = "the key may not use the models of this request";
}

// Removes models that must not see personal data found in the request. If the search failed, it
// removes every restricted model.
void Planner::remove_restricted(const ModelResults& results, Candidates& candidates,
                                Plan& plan) const {
  std::vector<std::string> denied;
  std::erase_if(candidates, [&](const selection::Candidate& each) {
    if (!selection::restricts(*each.model)) return false;
    if (!results.looked_for_pii) {
      plan.left_out.push_back(
          {each.model->name, "it has a pii_policy, and the search for personal data failed"});
      return true;
    }
    const std::vector<std::string> types = selection::denied_types(*each.model, results.pii_types);
    if (types.empty()) return false;
    plan.left_out.push_back(
        {each.model->name, fmt::format("its pii_policy does not allow {}", joined(types))});
    for (const std::string& type : types) {
      if (std::find(denied.begin(), denied.end(), type) == denied.end()) denied.push_back(type);
    }
    return true;
  });
  if (!candidates.empty()) return;
  plan.path = Plan::Path::kBlocked;
  plan.guarded.pii = true;
  plan.message = results.looked_for_pii
                     ? fmt::format(
                           "the request holds personal data that no model of its route "
                           "may see: {}",
                           joined(denied))
                     : "the search for personal data failed, and no model of the request's route "
                       "may see every type";
  plan.guarded.pii_types = std::move(denied);
}

// Removes models whose cards show that they cannot serve the request. If no other model is left,
// those that were removed for uncertain reasons alone stay.
void Planner::remove_unable(const PlanInputs& inputs, Candidates& candidates, Plan& plan) const {
  selection::Demands demands = demands_of(inputs.signal_inputs.request());
  const config::Decision* decision = inputs.target.decision;
  if (decision != nullptr && decision->tools && plugins::removes_tools(*decision->tools))
    demands.tools = false;
  Candidates able, doubtful;
  std::vector<Plan::LeftOut> left_out;
  bool all_by_length = true;
  for (const selection::Candidate& each : candidates) {
    selection::Inability found = find_inability(each, demands, routing_.model_cards);
    if (found.why.empty()) {
      able.push_back(each);
      continue;
    }
    if (!found.is_certain) doubtful.push_back(each);
    all_by_length = all_by_length && found.by_length;
    left_out.push_back({each.model->name, std::move(found.why)});
  }
  const bool is_unable = able.empty() && doubtful.empty();
  if (is_unable) {
    plan.path = Plan::Path::kUnable;
    plan.too_long = all_by_length;
    plan.message =
        fmt::format("no model of the request's route can serve it ({})", reasons_of(left_out));
  }
  if (is_unable || !able.empty())
    plan.left_out.insert(plan.left_out.end(), left_out.begin(), left_out.end());
  candidates = able.empty() ? std::move(doubtful) : std::move(able);
}

// Refuses a request for which the decision's algorithm has fewer models than it needs, and names
// those that were removed. A single call of a looper has one model, and models that have failed
// were there. `painters` are those for the image beside a text.
void Planner::require_minimum(const PlanInputs& inputs, const Candidates& candidates,
                              Candidates painters, Plan& plan) const {
  const config::Decision* decision = inputs.target.decision;
  const bool is_first = inputs.conditions.voice.empty() && inputs.conditions.failed.empty();
  if (decision == nullptr || decision->action.is_set() || !is_first) return;
  const uint32_t minimum = decision->algorithm.minimum_candidates;
  if (minimum <= 1) return;
  std::set<std::pair<std::string_view, std::string_view>> different;
  for (const selection::Candidate& each : candidates)
    different.emplace(each.model->name, each.ref->lora_name);
  Plan image;
  if (!painters.empty()) {
    remove_forbidden(inputs.conditions.allowed, painters, image);
    if (!painters.empty()) remove_restricted(inputs.results, painters, image);
    if (painters.empty()) return;  // add_painter() refuses the request for that reason
  }
  for (const selection::Candidate& each : painters)
    different.emplace(each.model->name, each.ref->lora_name);
  if (different.size() >= minimum) return;
  plan.path = Plan::Path::kUnable;
  add_left_out(image.left_out, plan.left_out);
  plan.message = fmt::format("{} of the request's route can serve it, and its algorithm needs {}",
                             counted(different.size(), "model"), minimum);
  if (!plan.left_out.empty()) plan.message += fmt::format(" ({})", reasons_of(plan.left_out));
}

const std::string& Planner::default_effort(const config::Model& model) const {
  const std::string& own = model.own_reasoning.default_effort;
  return own.empty() ? config_.providers.default_reasoning_effort : own;
}

// Reasoning can be switched off for any model, but on only if the model's reasoning family defines
// how.
void Planner::set_reasoning_of(const config::ModelRef& ref,
                               const config::DifficultyCase* difficulty, const PlanInputs& inputs,
                               Plan& plan) const {
  std::optional<bool> on = ref.use_reasoning;
  const bool by_domain =
      std::any_of(inputs.matched.begin(), inputs.matched.end(),
                  [](const MatchedCondition& condition) { return condition.type == "domain"; });
  if (doubt_ && by_domain) {
    if (const std::optional<bool> verdict = doubt_->reasons(inputs.signal_inputs)) on = verdict;
  }
  if (difficulty != nullptr && difficulty->use_reasoning) on = difficulty->use_reasoning;
  const bool has_effort = difficulty != nullptr && !difficulty->reasoning_effort.empty();
  if (has_effort && !on) on = true;
  if (!plan.model->reasoning_family.empty() || on == false) plan.reasoning = on;
  if (plan.reasoning != true) return;
  // Some of Anthropic's models refuse an effort, so only the decision itself may send one there.
  if (!plugins::speaks(*plan.model, request::Api::kMessages))
    plan.reasoning_effort = default_effort(*plan.model);
  if (!ref.reasoning_effort.empty()) plan.reasoning_effort = ref.reasoning_effort;
  if (has_effort) plan.reasoning_effort = difficulty->reasoning_effort;
}

// The plugins' edits of the form in which the client wrote the request.
std::string Planner::edit_native(const request::NativeRequest& native, const PlanInputs& inputs,
                                 const config::DifficultyCase* difficulty,
                                 const plugins::ToolSelection* tools, const Plan& plan) const {
  const request::ChatRequest& request = inputs.signal_inputs.request();
  const config::Decision* decision = inputs.target.decision;
  std::vector<splice::Edit> edits;
  splice::ObjectEditor body(native.document.root());
  if (tools != nullptr) plugins::put_chosen_tools(*tools, request, body);
  if (decision != nullptr) {
    plugins::limit_params(decision->request_params ? &*decision->request_params : nullptr,
                          difficulty == nullptr ? std::nullopt : difficulty->max_tokens, native,
                          body);
    if (decision->tools) plugins::filter_tools(*decision->tools, body);
  }
  if (request.model != plan.upstream_name) body.set("model", json::quote(plan.upstream_name));
  // Servers of the Responses API store a response unless `store` is false.
  if (plan.drops() && native.api == request::Api::kResponses) body.set("store", "false");
  add_prompt(inputs, plan, native, body, edits);
  if (plan.reasoning)
    plugins::set_reasoning(native.api, *plan.reasoning, plan.reasoning_effort, body, edits);
  add_edits(inputs.results.native_context, edits);
  body.finish(edits);
  std::string out = splice::apply(native.document.source(), std::move(edits));
  if (!offers_file_search(inputs.target)) return out;
  return plugins::offer_file_search(std::move(out), *decision->rag);
}

std::string Planner::edit_body(const PlanInputs& inputs, const config::DifficultyCase* difficulty,
                               const plugins::ToolSelection* tools, const Plan& plan) const {
  const request::ChatRequest& request = inputs.signal_inputs.request();
  const config::Decision* decision = inputs.target.decision;
  const std::optional<plugins::Masked>& masked = inputs.results.masked;
  if (plan.native) {
    const bool is_masked = masked && masked->native;
    return edit_native(is_masked ? *masked->native : *request.native, inputs, difficulty, tools,
                       plan);
  }
  const json::Document& document = masked ? masked->body : request.document;
  const json::Value root = document.root();
  std::vector<splice::Edit> edits;
  splice::ObjectEditor body(root);
  if (tools != nullptr) plugins::put_chosen_tools(*tools, body);
  if (decision != nullptr) {
    plugins::limit_params(decision->request_params ? &*decision->request_params : nullptr,
                          difficulty == nullptr ? std::nullopt : difficulty->max_tokens,
                          *plan.model, root, body);
    if (decision->tools) plugins::filter_tools(*decision->tools, body);
  }
  if (request.is_translated) plugins::name_token_bound(*plan.model, body);
  if (plan.takes_usage) request_usage(root, body, edits);
  if (request.model != plan.upstream_name) body.set("model", json::quote(plan.upstream_name));
  // Not every server knows the member, so it is set only where the client has.
  if (plan.drops() && root.find("store")) body.set("store", "false");
  add_prompt(inputs, plan, *root.find("messages"), edits);
  // Without a decision about it, the client's wish is written as the model's family wants it.
  const std::optional<bool> reasoning = plan.reasoning ? plan.reasoning : request.reasoning;
  if (reasoning && !plan.model->reasoning_family.empty()) {
    const config::ReasoningFamily& family =
        config_.providers.reasoning_families.at(plan.model->reasoning_family);
    const bool by_client =
        !plan.reasoning && !plugins::speaks(*plan.model, request::Api::kMessages);
    const std::string effort =
        by_client ? effort_of(root, default_effort(*plan.model)) : plan.reasoning_effort;
    plugins::set_reasoning(family, *plan.model, *reasoning, effort, body, edits);
  }
  add_edits(inputs.results.context, edits);
  body.finish(edits);
  return splice::apply(document.source(), std::move(edits));
}

std::optional<Plan> Planner::refuse_stranger(const signals::Inputs& inputs) const {
  if (!has_roles_) return std::nullopt;
  const config::Authz::Identity& identity = config_.authz.identity;
  if (!config::refuses_stranger(config_, inputs.header(identity.user_id_header).value_or(""),
                                inputs.header(identity.user_groups_header).value_or("")))
    return std::nullopt;
  Plan plan;
  plan.path = Plan::Path::kBlocked;
  plan.guarded.missing_identity = true;
  plan.message = config::stranger_message(config_);
  return plan;
}

// Names the decision. Its own answer completes the plan.
Result<void> Planner::begin(const PlanInputs& inputs, Plan& plan) const {
  const config::Decision* decision = inputs.target.decision;
  if (decision == nullptr) {
    if (plan.bypassed || !needs_decision_) return {};
    return fail(Code::kInvalid,
                "model: {} stands for the decisions of one algorithm, and none of them matches the "
                "request",
                json::quote_briefly(inputs.signal_inputs.request().model));
  }
  plan.decision = decision->name;
  plan.category = decision->name;
  plan.confidence = inputs.confidence;
  plan.algorithm = decision->algorithm.type;
  plan.retention = config::retention_of(*decision);
  if (decision->fast_response) {
    plan.path = Plan::Path::kFastResponse;
    plan.message = decision->fast_response->message;
    plan.guarded = guards_of(inputs.matched);
    return {};
  }
  if (!decision->missing_plugins.empty()) {
    return fail(Code::kUnsupported, "decision \"{}\" needs the plugin {}, which this router lacks",
                decision->name, decision->missing_plugins.front());
  }
  return {};
}

// Returns the case of the decision's difficulty; null if there is none.
const config::DifficultyCase* Planner::apply_decision(const config::ModelRef& ref,
                                                      const PlanInputs& inputs, Plan& plan) const {
  const config::Decision* decision = inputs.target.decision;
  if (decision == nullptr) return nullptr;
  const config::DifficultyCase* difficulty = difficulty_.find(*decision, inputs.values);
  set_reasoning_of(ref, difficulty, inputs, plan);
  plan.injected_system_prompt = decision->system_prompt && decision->system_prompt->enabled;
  if (decision->header_mutation) plan.header_mutation = &*decision->header_mutation;
  if (decision->prompt_cache && decision->prompt_cache->enabled)
    plan.prompt_cache = &*decision->prompt_cache;
  // The cache has no place for images, and what a decision drops is never there.
  if (plan.painter == nullptr && !plan.drops() &&
      config::keeps_answers(config_.response_cache, *decision))
    plan.response_cache = &*decision->response_cache;
  const auto& shadow = decision->shadow_dispatch;
  if (shadow && shadow->is_on() && plan.loop == nullptr) plan.shadow = &*shadow;
  return difficulty;
}

Result<Plan> Planner::plan(const PlanInputs& inputs) const {
  Plan plan;
  plan.bypassed = inputs.target.bypassed;
  if (plan.bypassed && inputs.target.named == nullptr)
    return unknown_model(config_, inputs.signal_inputs.request().model);
  if (std::optional<Plan> refused = refuse_stranger(inputs.signal_inputs)) {
    refused->bypassed = plan.bypassed;
    return *std::move(refused);
  }
  SIGNALBOX_TRY_VOID(begin(inputs, plan));
  if (plan.path != Plan::Path::kUpstream) return plan;
  if (mask_of(inputs.target) != nullptr && !inputs.results.masked) {
    plan.path = Plan::Path::kBlocked;
    plan.guarded.pii = true;
    plan.message =
        "the search for personal data failed, and the request's route masks personal data";
    return plan;
  }
  const std::string_view one = inputs.conditions.voice;
  Candidates left = one.empty() ? candidates(inputs.target) : voice(inputs.target, one);
  if (left.empty()) return fail(Code::kNotFound, "there is no model \"{}\"", one);
  add_tool_caller(inputs, left);
  // Before models are removed: what may not go to the models for images goes to no image server.
  Candidates painters = begin_image(inputs, left, plan);
  bool is_fallback = false;
  if (const auto failed = inputs.conditions.failed; !failed.empty()) {
    is_fallback = remove_failed(failed, inputs.target.decision, left);
    plan.instead_of.assign(failed.begin(), failed.end());
    if (left.empty()) return fail(Code::kUpstream, "there is no other model to try");
  }
  remove_forbidden(inputs.conditions.allowed, left, plan);
  if (plan.path == Plan::Path::kBlocked) return plan;
  remove_restricted(inputs.results, left, plan);
  if (plan.path == Plan::Path::kBlocked) return plan;
  // An image server gets nothing of the request but one message.
  if (!plan.bypassed && plan.image == nullptr) {
    remove_unable(inputs, left, plan);
    if (plan.path == Plan::Path::kUpstream) require_minimum(inputs, left, painters, plan);
    if (plan.path == Plan::Path::kUnable) return plan;
  }
  if (is_fallback) left.erase(left.begin() + 1, left.end());
  SIGNALBOX_TRY(const selection::Candidate choice, choose(inputs, left, plan));
  plan.model = choice.model;
  plan.upstream_name = upstream_name(choice);
  if (plan.image != nullptr) {
    SIGNALBOX_TRY_VOID(request_image(inputs, plan));
    plan.takes_usage = takes_usage(config_, inputs.signal_inputs.request(), plan);
    return plan;
  }
  if (!painters.empty()) {
    SIGNALBOX_TRY_VOID(add_painter(inputs, std::move(left), std::move(painters), plan));
    if (plan.path == Plan::Path::kBlocked) return plan;
  }
  const config::DifficultyCase* difficulty = apply_decision(*choice.ref, inputs, plan);
  const request::ChatRequest& request = inputs.signal_inputs.request();
  const plugins::ToolSelector* selector = tool_selector_of(inputs.target, request);
  std::optional<plugins::ToolSelection> selected_tools;
  if (selector != nullptr) {
    selected_tools =
        selector->choose(request, inputs.results.tools, plan.category, inputs.confidence);
    plan.tools = selected_tools->report;
    plugins::count(plan.tools);
  }
  set_reply_checks(inputs, plan);
  add_memories(inputs, plan);
  const bool strips = strips_tools(inputs.target);
  const bool is_loop = plan.loop != nullptr || !one.empty();
  const bool needs_chat = is_loop && !inputs.conditions.keeps_api;
  plan.native =
      request.native && !needs_chat && !strips && plugins::speaks(*plan.model, request.native->api);
  SIGNALBOX_TRY_VOID(check_context(inputs, plan));
  SIGNALBOX_TRY_VOID(check_documents(inputs, plan));
  plan.takes_usage = !is_loop && takes_usage(config_, request, plan);
  plan.body = edit_body(inputs, difficulty, selected_tools ? &*selected_tools : nullptr, plan);
  if (strips) plan.body = plugins::strip_tool_history(std::move(plan.body));
  if (inputs.results.masked) plan.masks = inputs.results.masked->masks;
  return plan;
}

// Check the reply unless we know that it needs no check.
void Planner::set_reply_checks(const PlanInputs& inputs, Plan& plan) const {
  const config::Decision* decision = inputs.target.decision;
  if (decision == nullptr) return;
  if (checks_grounding(inputs.target)) {
    decision::Value facts = decision::Value::unknown();
    if (facts_ != decision::kNoSignal) facts = inputs.values[facts_];
    plan.needs_facts = facts.is_match();
    if (facts.high != decision::Truth::kNo) plan.grounding = &*decision->hallucination;
  }
  if (decision->response_jailbreak && decision->response_jailbreak->enabled)
    plan.jailbreak = &*decision->response_jailbreak;
}

}  // namespace signalbox::routing
