// Any bytes as the body of a chat request: refused, or planned into a body that is a chat request
// again, for the model that the plan names and with its system prompt. Covers the JSON tree, the
// reader of requests and the splicing.

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "router/api/chat_request.h"
#include "router/config/load.h"
#include "router/router.h"

namespace signalbox::router {
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
    keywords: [{name: hard, keywords: [prove]}]
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

const Router& router() {
  static const std::unique_ptr<const Router> made = [] {
    auto loaded = config::parse(kConfig, "fuzz.yaml");
    SIGNALBOX_CHECK(loaded.has_value());
    auto router = Router::create(std::move(loaded->config), {});
    SIGNALBOX_CHECK(router.has_value());
    return *std::move(router);
  }();
  return *made;
}

}  // namespace
}  // namespace signalbox::router

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace signalbox;
  using namespace signalbox::router;
  const auto request = ChatRequest::parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!request) return 0;
  Evaluation evaluation = router::router().evaluate(*request);
  SIGNALBOX_CHECK(evaluation.run_cheap());
  const auto plan = evaluation.plan();
  if (!plan) return 0;
  const auto planned = ChatRequest::parse(plan->body);
  SIGNALBOX_CHECK(planned.has_value());
  SIGNALBOX_CHECK(planned->model == plan->model->provider_model_id);
  SIGNALBOX_CHECK(planned->user_text() == request->user_text());
  SIGNALBOX_CHECK(planned->stream == request->stream);
  if (plan->injected_system_prompt) SIGNALBOX_CHECK(!planned->messages.empty());
  return 0;
}
