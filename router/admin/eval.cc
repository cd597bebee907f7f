// POST /api/v1/eval: everything that the router computes for a request, without sending it to a
// model. The signals' results come from the explanation, which contains all of them.

#include "router/admin/eval.h"

#include <algorithm>
#include <set>

#include "router/admin/classify.h"
#include "router/request/chat_request.h"

namespace signalbox::admin {
namespace {

using json::Value;
using serving::ServingState;

struct EvalRequest {
  request::ChatRequest chat;
  std::string recipe;  // "": chosen by the model's name
  bool trace = true;
};

OrFailure<std::string_view> optional_text(const Value& root, std::string_view key) {
  const auto found = root.find(key);
  if (!found || found->is_null()) return std::string_view();
  return text_member(root, key);
}

/// Builds a chat request from the members that chat requests have; `text` alone becomes a user
/// message.
OrFailure<EvalRequest> read_eval(const http::Request& request, const serving::ServingState& state) {
  SIGNALBOX_OR_FAIL(const json::Document document, read_body(request));
  const Value root = document.root();
  SIGNALBOX_OR_FAIL(const std::string_view model, optional_text(root, "model"));
  SIGNALBOX_OR_FAIL(const std::string_view recipe, optional_text(root, "recipe"));
  const auto messages = root.find("messages");
  json::Writer out;
  if (messages && !messages->is_null()) {
    if (!messages->is_array()) return invalid("messages: expected an array");
    begin_chat(out, state, model, "", messages->raw());
  } else {
    SIGNALBOX_OR_FAIL(const std::string_view text, text_member(root, "text"));
    begin_chat(out, state, model, text, "");
  }
  for (const std::string_view key : {"tools", "tool_choice", "metadata"}) {
    if (const auto found = root.find(key)) out.key(key).raw(found->raw());
  }
  auto chat = request::ChatRequest::parse(out.end_object().take());
  if (!chat) return tl::unexpected<access::Failure>(access::failure_of(chat.error()));
  EvalRequest eval_request{*std::move(chat), std::string(recipe)};
  SIGNALBOX_OR_FAIL(const Value options, options_of(root));
  if (options.find("trace")) {
    SIGNALBOX_OR_FAIL(eval_request.trace, flag_member(options, "trace"));
  }
  return eval_request;
}

/// Collects the signals in the conditions of a decision, as "type:name".
void collect(const config::Rule& rule, std::set<std::string>& out) {
  if (rule.op == config::Rule::Operator::kLeaf)
    out.insert(fmt::format("{}:{}", rule.type, rule.name));
  for (const config::Rule& condition : rule.conditions) collect(condition, out);
}

/// Writes {"keywords": ["a"], ...} for the signals that `wanted` accepts.
template <class Wanted>
void write_signals(json::Writer& out, std::string_view key, const Value& signals,
                   const Wanted& wanted) {
  out.key(key).begin_object();
  for (const auto& type : signals.members()) {
    bool open = false;
    for (const auto& signal : type.value.members()) {
      if (!wanted(type.key, signal.key, signal.value)) continue;
      if (!open) out.key(plural(type.key)).begin_array();
      open = true;
      out.string(signal.key);
    }
    if (open) out.end_array();
  }
  out.end_object();
}

/// Writes {"type:name": value, ...} for one member of the signals.
void write_values(json::Writer& out, std::string_view key, const Value& signals,
                  std::string_view member) {
  out.key(key).begin_object();
  for (const auto& type : signals.members()) {
    for (const auto& signal : type.value.members()) {
      const auto value = signal.value.find(member);
      if (value) out.key(fmt::format("{}:{}", type.key, signal.key)).raw(value->raw());
    }
  }
  out.end_object();
}

void write_decision(json::Writer& out, const config::Decision* decision, const Value& signals) {
  std::set<std::string> used;
  if (decision != nullptr) collect(decision->rules, used);
  const auto matches = [](const Value& signal, std::string_view json) {
    return signal.find("matched")->raw() == json;
  };
  out.key("decision_result").begin_object();
  out.member("decision_name", decision != nullptr ? std::string_view(decision->name) : "");
  out.member("algorithm", decision != nullptr ? std::string_view(decision->algorithm.type) : "");
  out.key("plugins").begin_array();
  if (decision != nullptr) {
    for (const std::string_view name : config::plugin_names(*decision)) out.string(name);
  }
  out.end_array();
  write_signals(out, "used_signals", signals, [&](auto type, auto name, const Value&) {
    return used.contains(fmt::format("{}:{}", type, name));
  });
  write_signals(out, "matched_signals", signals,
                [&](auto, auto, const Value& signal) { return matches(signal, "true"); });
  write_signals(out, "unmatched_signals", signals,
                [&](auto, auto, const Value& signal) { return matches(signal, "false"); });
  out.end_object();
}

std::string_view status_of(const Result<routing::Plan>& plan) {
  if (!plan) return plan.error().code == Code::kUnsupported ? "unsupported" : "failed";
  switch (plan->path) {
    case routing::Plan::Path::kUpstream:
      return plan->bypassed ? "bypassed" : "selected";
    case routing::Plan::Path::kFastResponse:
      return "fast_response";
    case routing::Plan::Path::kBlocked:
      return "blocked";
    case routing::Plan::Path::kUnable:
      return "unavailable";
  }
  return "";
}

void write_selection(json::Writer& out, const config::Decision* decision,
                     const Result<routing::Plan>& plan) {
  out.key("recommended_models").begin_array();
  if (decision != nullptr) {
    for (const config::ModelRef& ref : decision->model_refs) out.string(ref.model);
  }
  out.end_array();
  const bool chosen = plan && plan->model != nullptr;
  out.member("selected_model", chosen ? std::string_view(plan->model->name) : "");
  out.member("selection_status", status_of(plan));
  out.member("selection_method", plan ? std::string_view(plan->selection_method) : "");
  const bool is_unable = plan && plan->path == routing::Plan::Path::kUnable;
  out.member("selection_reason", is_unable ? std::string_view(plan->message)
                                 : plan    ? std::string_view(plan->selection_reason)
                                           : std::string_view(plan.error().message));
}

OrFailure<std::string> eval(const http::Request& request, const serving::ServingState& state) {
  const Stopwatch watch;
  SIGNALBOX_OR_FAIL(const EvalRequest eval_request, read_eval(request, state));
  const auto headers = [&](std::string_view name) { return request.headers.find(name); };
  auto begun = eval_request.recipe.empty()
                   ? Result<routing::Evaluation>(state.router->evaluate(eval_request.chat, headers))
                   : state.router->evaluate_recipe(eval_request.recipe, eval_request.chat, headers);
  if (!begun) return invalid(fmt::format("recipe: {}", begun.error().message));
  routing::Evaluation& evaluation = *begun;
  const Result<void> ran = evaluation.run_all();
  if (!ran && ran.error().code == Code::kOverloaded)
    return tl::unexpected<access::Failure>(access::failure_of(ran.error()));
  const config::Decision* decision = evaluation.decision();
  const Result<routing::Plan> plan = evaluation.plan();
  auto explained = json::Document::parse(evaluation.explain_json());
  if (!explained) return tl::unexpected<access::Failure>(access::failure_of(explained.error()));
  const Value signals = *explained->root().find("signals");

  json::Writer out;
  out.begin_object().member("original_text", eval_request.chat.user_text());
  out.member("requested_model", eval_request.chat.model);
  out.member("recipe",
             plan ? std::string_view(plan->recipe) : std::string_view(eval_request.recipe));
  write_decision(out, decision, signals);
  if (eval_request.trace) out.key("eval_trace").raw(explained->root().find("trace")->raw());
  write_selection(out, decision, plan);
  write_values(out, "signal_confidences", signals, "confidence");
  write_values(out, "signal_values", signals, "score");
  write_values(out, "signal_errors", signals, "why");
  out.key("metrics").begin_object().member("processing_time_ms", watch.ms()).end_object();
  return out.end_object().take();
}

}  // namespace

http::Route eval_route(const serving::CurrentState& current, http::ThreadPool& pool) {
  return management_route("POST", "/api/v1/eval", access::kClassify, current, pool,
                          [](const http::Request& request, const serving::ServingState& state) {
                            return answer_of(eval(request, state));
                          });
}

}  // namespace signalbox::admin
