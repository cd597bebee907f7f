// /api/v1/eval follows the vLLM Semantic Router and computes everything. This route does what a
// real request does: signals that the outcome did not need stay unknown, and those that it needed
// show their cost.

#include "router/admin/explain.h"

#include "base/utf8.h"
#include "router/access/owner.h"
#include "router/admin/classify.h"
#include "router/learning/rules.h"
#include "router/routing/decision_headers.h"
#include "router/routing/plan_calls.h"
#include "router/safety/pii/rules.h"

namespace signalbox::admin {
namespace {

using json::Value;
using routing::Evaluation;
using serving::ServingState;

struct ExplainRequest {
  std::string body;  // of a chat completion request
  std::string recipe;
  bool all = false;              // also evaluate signals that are not needed
  std::optional<uint32_t> seed;  // for experiments of learning; nullopt: there are none
};

OrFailure<ExplainRequest> read_explain(const http::Request& request,
                                       const serving::ServingState& state) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const Value root = document.root();
  ExplainRequest explain_request;
  SIGNALBOX_OR_FAIL(explain_request.all, flag_member(root, "all"));
  if (const auto seed = root.find("seed")) {
    constexpr uint32_t kSeedMax = std::numeric_limits<uint32_t>::max();
    const Result<int64_t> value = seed->integer();
    if (!value || *value < 0 || *value > kSeedMax)
      return invalid(fmt::format("seed: expected an integer from 0 to {}, found {}", kSeedMax,
                                 json::quote_briefly(seed->raw())));
    explain_request.seed = static_cast<uint32_t>(*value);
  }
  if (root.find("recipe")) {
    SIGNALBOX_OR_FAIL(const std::string_view recipe, text_member(root, "recipe"));
    explain_request.recipe = recipe;
  }
  if (const auto whole = root.find("request")) {
    explain_request.body = whole->raw();
    return explain_request;
  }
  if (!root.find("text"))
    return invalid("expected {\"text\": \"...\"} or {\"request\": {a chat completion request}}");
  SIGNALBOX_OR_FAIL(const std::string_view text, text_member(root, "text"));
  json::Writer out;
  begin_chat(out, state, "", text, "");
  explain_request.body = out.end_object().take();
  return explain_request;
}

double ms_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void write_decision(json::Writer& out, const config::Decision* decision) {
  out.key("decision");
  if (decision == nullptr) {
    out.null();
    return;
  }
  out.begin_object().member("name", decision->name).member("description", decision->description);
  out.member("priority", decision->priority).member("algorithm", decision->algorithm.type);
  if (decision->tier != 0) out.member("tier", decision->tier);
  out.key("models").begin_array();
  for (const config::ModelRef& ref : decision->model_refs) out.string(ref.model);
  out.end_array().key("plugins").begin_array();
  for (const std::string_view name : config::plugin_names(*decision)) out.string(name);
  out.end_array().end_object();
}

void write_shadow(json::Writer& out, const config::ShadowDispatchPlugin& plugin) {
  out.key("shadow").begin_object().key("models").begin_array();
  for (const auto& arm : plugin.arms) out.string(arm.model);
  out.end_array().member("sample_rate", plugin.sample_rate).end_object();
}

void write_plan(json::Writer& out, const Result<routing::Plan>& plan,
                const config::Looper& looper) {
  out.key("plan").begin_object();
  if (!plan) {
    out.member("path", routing::kErrorPath).member("message", plan.error().message).end_object();
    return;
  }
  out.member("path", routing::path_name(plan->path)).member("recipe", plan->recipe);
  out.member("confidence", plan->confidence).member("bypassed", plan->bypassed);
  if (plan->model != nullptr)
    out.member("model", plan->model->name).member("asked_for", plan->upstream_name);
  if (!plan->message.empty()) out.member("message", plan->message);
  if (!plan->selection_method.empty())
    out.member("method", plan->selection_method).member("reason", plan->selection_reason);
  routing::write_left_out(*plan, out);
  routing::write_calls(*plan, looper, out);
  if (plan->learning) learning::write(*plan->learning, out);
  if (plan->reasoning) out.member("reasoning", *plan->reasoning);
  if (plan->shadow != nullptr) write_shadow(out, *plan->shadow);
  out.key("headers").begin_object();
  for (const routing::Header& header : routing::response_headers(*plan, true))
    out.member(header.name, header.value);
  out.end_object();
  if (plan->path == routing::Plan::Path::kUpstream) out.member("body", plan->body);
  out.end_object();
}

void write_cost(json::Writer& out, const serving::ServingState& state, const Evaluation& evaluation,
                double ms) {
  const Evaluation::Timings timings = evaluation.timings();
  out.key("cost").begin_object().member("ms", ms).member("rules_ms", ms_of(timings.deciding));
  out.key("signals").begin_object();
  for (const auto& run : timings.signals) {
    out.key(run.type).begin_object().member("ms", ms_of(run.ended - run.began));
    out.member("failed", run.failed).end_object();
  }
  out.end_object().key("passes").begin_array();
  for (const signals::Inputs::ModelPass& pass : timings.passes) {
    out.begin_object().member("model", state.observer->meters().engine_name(pass.model));
    out.member("ms", ms_of(pass.ended - pass.began)).end_object();
  }
  out.end_array().end_object();
}

// Finds personal data by the model and by rules. Without a model it uses rules alone; if the model
// fails, it uses rules and reports the failure.
void write_personal(json::Writer& out, const serving::ServingState& state, std::string_view text) {
  const bool has_model = !models::classifier_directory(state.config(), "pii").empty();
  auto found = has_model ? find_pii(state, text, {})
                         : OrFailure<std::vector<pii::PiiEntity>>(pii::find_pii_by_rules(text));
  if (!found) {
    out.member("personal_failed", found.error().message);
    found = pii::find_pii_by_rules(text);
  }
  out.key("personal").begin_array();
  utf8::Points points(text);
  for (const pii::PiiEntity& entity : *found) {
    const auto begin = static_cast<int64_t>(points.up_to(entity.begin));
    const auto end = static_cast<int64_t>(points.up_to(entity.end));
    out.begin_object().member("type", entity.type).member("start", begin).member("end", end);
    out.member("score", entity.score).member("source", pii::pii_source_name(entity.source));
    out.end_object();
  }
  out.end_array();
}

// An explanation reads the state of learning and does not change it.
std::optional<learning::Situation> find_situation(const http::Request& request,
                                                  const serving::ServingState& state,
                                                  const request::ChatRequest& chat,
                                                  learning::Memory& memory) {
  if (!learning::is_used(state.config())) return std::nullopt;
  return learning::situation_of(
      memory, state.config().router.learning, access::owner_of(request.headers, state.config()),
      [&request](std::string_view name) { return request.headers.find(name); }, chat,
      std::chrono::steady_clock::now());
}

OrFailure<std::string> explain(const http::Request& request, const serving::ServingState& state,
                               learning::Memory& memory) {
  SIGNALBOX_OR_FAIL(const ExplainRequest explain_request, read_explain(request, state));
  auto parsed = request::ChatRequest::parse(explain_request.body);
  if (!parsed) return tl::unexpected<access::Failure>(access::failure_of(parsed.error()));
  const request::ChatRequest chat = *std::move(parsed);
  // The plan's body has the memories of the user whom the headers name.
  const bool may_read =
      state.access.check(access::kReplayDetail, access::credentials_of(request)) ==
      access::Access::CheckResult::kGranted;
  const auto headers = [&](std::string_view name) {
    if (name == routing::kNoMemoryHeader && !may_read)
      return std::optional<std::string_view>("true");
    return request.headers.find(name);
  };
  const Stopwatch watch;
  auto begun = explain_request.recipe.empty()
                   ? Result<Evaluation>(state.router->evaluate(chat, headers))
                   : state.router->evaluate_recipe(explain_request.recipe, chat, headers);
  if (!begun) return invalid(fmt::format("recipe: {}", begun.error().message));
  Evaluation& evaluation = *begun;
  Result<void> ran;
  if (explain_request.all) {
    ran = evaluation.run_all();
  } else if (!evaluation.refuse_stranger()) {
    ran = evaluation.run_needed();
  }
  if (!ran && ran.error().code == Code::kOverloaded)
    return tl::unexpected<access::Failure>(access::failure_of(ran.error()));
  if (!ran) evaluation.give_up(ran.error());
  const auto situation = find_situation(request, state, chat, memory);
  std::optional<uint32_t> seed = explain_request.seed;
  // LinUCB draws nothing: it makes the same choice with any seed.
  const std::string& strategy = state.config().router.learning.adaptation.strategy;
  if (!seed && learning::strategy_of(strategy) == learning::Strategy::kLinUcb) seed = 0;
  const Result<routing::Plan> plan =
      evaluation.plan({.learning = situation ? &*situation : nullptr, .seed = seed});
  const double ms = watch.ms();
  auto explained = json::Document::parse(evaluation.explain_json());
  if (!explained) return tl::unexpected<access::Failure>(access::failure_of(explained.error()));

  json::Writer out;
  out.begin_object().member("request", explain_request.body).member("text", chat.user_text());
  write_decision(out, evaluation.decision());
  write_plan(out, plan, state.config().looper);
  out.member("rests_on_missing", evaluation.rests_on_missing());
  if (!ran) out.member("degraded", ran.error().message);
  out.key("signals").raw(explained->root().find("signals")->raw());
  out.key("trace").raw(explained->root().find("trace")->raw());
  write_cost(out, state, evaluation, ms);
  write_personal(out, state, chat.user_text());
  return out.end_object().take();
}

}  // namespace

http::Route explain_route(const serving::CurrentState& current, http::ThreadPool& pool,
                          learning::Memory& memory) {
  return management_route(
      "POST", "/api/v1/explain", access::kClassify, current, pool,
      [&memory](const http::Request& request, const serving::ServingState& state) {
        return answer_of(explain(request, state, memory));
      });
}

}  // namespace signalbox::admin
