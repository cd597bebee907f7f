// Feeds arbitrary bytes as the body of a chat request. It must be refused, or be planned into a
// body that is a chat request again, for the planned model and with its system prompt. Covers the
// JSON tree, the request reader, every signal that needs no model, and the splicing.

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "router/config/load.h"
#include "router/request/chat_request.h"
#include "router/routing/router.h"

namespace signalbox::request {
namespace {

constexpr const char* kConfig = R"(
version: v0.3
providers:
  defaults:
    default_model: small
    reasoning_families: {qwen3: {type: chat_template_kwargs, parameter: enable_thinking}}
  models:
    - {name: small, provider_model_id: "org/\"small\"", backend_refs: [{name: a, type: echo}]}
    - {name: large, reasoning_family: qwen3, backend_refs: [{name: b, type: echo}]}
routing:
  signals:
    keywords:
      - {name: hard, keywords: [prove]}
      - {name: misspelt, method: fuzzy, keywords: [password, "credit card", a], fuzzy_threshold: 60}
      - {name: related, method: bm25, keywords: [machine learning, model]}
      - {name: forms, method: ngram, keywords: [urgent, "as soon"], ngram_threshold: 0.3}
      - {name: pattern, patterns: ["(a|b)*c", "^\\s*$"]}
    structure:
      - {name: count, feature: {type: count, source: {type: regex, pattern: "x*"}}}
      - {name: dense, feature: {type: density, source: {type: keyword_set, keywords: [table, "\u8868"]}}}
      - {name: flow, feature: {type: sequence, source: {type: sequence, sequences: [[first, then]]}}}
    context: [{name: long, min_tokens: 100}]
    language: [{name: en}, {name: zh}, {name: uk}]
    conversation: [{name: loop, feature: {type: exists, source: {type: active_tool_loop}}}]
    events: [{name: event, event_types: [failed], severities: [high], temporal: true}]
    metadata: [{name: denied, key: consent, predicate: {equals: denied}}]
    role_bindings: [{name: ops, role: admin, subjects: [{kind: User, name: ada}]}]
  projections:
    scores: [{name: s, inputs: [{type: keyword, name: misspelt}, {type: structure, name: count, value_source: raw}]}]
    mappings: [{name: m, source: s, outputs: [{name: some, gt: 0.5}]}]
  decisions:
    - name: hard
      priority: 1
      rules: {operator: OR, conditions: [{type: keyword, name: hard}]}
      modelRefs: [{model: large, use_reasoning: true}]
      plugins: [{type: system_prompt, configuration: {mode: insert, system_prompt: "Be \"exact\"."}}]
    - name: easy
      modelRefs: [{model: small}]
      plugins: [{type: system_prompt, configuration: {mode: replace, system_prompt: "Be brief."}}]
)";

const routing::Router& router() {
  static const std::unique_ptr<const routing::Router> made = [] {
    auto loaded = config::parse(kConfig, "fuzz.yaml");
    SIGNALBOX_CHECK(loaded.has_value());
    auto router = routing::Router::create(std::move(loaded->config), {});
    SIGNALBOX_CHECK(router.has_value());
    return *std::move(router);
  }();
  return *made;
}

}  // namespace
}  // namespace signalbox::request

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  using namespace signalbox::routing;
  const auto request = signalbox::request::ChatRequest::parse(
      std::string(reinterpret_cast<const char*>(data), size));
  if (!request) return 0;
  Evaluation evaluation = signalbox::request::router().evaluate(*request);
  SIGNALBOX_CHECK(evaluation.run_cheap());
  SIGNALBOX_CHECK(json::Document::parse(evaluation.explain_json()).has_value());
  const auto plan = evaluation.plan();
  if (!plan) return 0;
  const auto planned = request::ChatRequest::parse(plan->body);
  SIGNALBOX_CHECK(planned.has_value());
  SIGNALBOX_CHECK(planned->model == plan->model->provider_model_id);
  SIGNALBOX_CHECK(planned->user_text() == request->user_text());
  SIGNALBOX_CHECK(planned->stream == request->stream);
  if (plan->injected_system_prompt) SIGNALBOX_CHECK(!planned->messages.empty());
  return 0;
}
