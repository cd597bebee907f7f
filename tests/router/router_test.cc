// Tests the router from request to plan: fusion of signals, short cuts, failures, explanations and
// headers.

#include "router/routing/router.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/json_writer.h"
#include "router/config/load.h"
#include "router/routing/decision_headers.h"
#include "tests/router/fake_embedder.h"

namespace signalbox::routing {
namespace {

constexpr std::string_view kConfig = R"(version: v0.3
providers:
  defaults:
    default_model: small
    default_reasoning_effort: low
    reasoning_families: {think: {type: chat_template_kwargs, parameter: thinking}}
  models:
    - {name: small, backend_refs: [{type: echo}]}
    - {name: big, reasoning_family: think, backend_refs: [{type: echo}]}
routing:
  signals:
    keywords:
      - {name: math, keywords: [proof, theorem]}
      - {name: law, keywords: [court]}
      - {name: banned, keywords: [forbidden]}
    embeddings:
      - {name: math, threshold: 0.6, candidates: ["solve the equation"]}
      - {name: law, threshold: 0.6, candidates: ["sue the tenant"]}
    jailbreak: [{name: x}]
  decisions:
    - name: math
      priority: 10
      rules: &math
        operator: OR
        conditions:
          - {type: keyword, name: math}
          - operator: AND
            conditions:
              - &no_keyword
                operator: NOT
                conditions:
                  - {operator: OR, conditions: [{type: keyword, name: math}, {type: keyword, name: law}]}
              - {type: embedding, name: math}
      modelRefs: [{model: big, use_reasoning: true}]
      plugins: [{type: system_prompt, configuration: {system_prompt: Prove it.}}]
    - name: law
      priority: 10
      rules:
        operator: OR
        conditions:
          - {type: keyword, name: law}
          - {operator: AND, conditions: [*no_keyword, {type: embedding, name: law}]}
      modelRefs: [{model: small, use_reasoning: false}]
    - name: blocked
      priority: 99
      rules: {type: keyword, name: banned}
      plugins: [{type: rag, configuration: {backend: mcp}}]
    - name: unbuilt
      priority: 50
      rules: {operator: NOT, conditions: [{type: jailbreak, name: x}]}
)";

class RouterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = config::parse(kConfig, "test.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    auto router =
        Router::create(std::move(loaded->config),
                       {.embedder = std::make_unique<test::FakeEmbedder>(&calls_, &fail_)});
    ASSERT_TRUE(router) << router.error().message;
    router_ = *std::move(router);
    calls_ = 0;
  }

  static request::ChatRequest request_with(std::string_view text, std::string_view model = "auto") {
    json::Writer out;
    out.begin_object().member("model", model).key("messages").begin_array();
    out.begin_object().member("role", "user").member("content", text).end_object();
    return *request::ChatRequest::parse(out.end_array().end_object().take());
  }

  Plan plan_for(std::string_view text) {
    const request::ChatRequest request = request_with(text);
    Evaluation evaluation = router_->evaluate(request);
    EXPECT_TRUE(evaluation.run_cheap() || evaluation.run_needed());
    auto plan = evaluation.plan();
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? *std::move(plan) : Plan{};
  }

  std::atomic<int> calls_{0};
  std::atomic<bool> fail_{false};
  std::unique_ptr<const Router> router_;
};

TEST_F(RouterTest, a_keyword_decides_without_running_the_model) {
  const Plan plan = plan_for("Explain the proof of the theorem");
  EXPECT_EQ(plan.decision, "math");
  EXPECT_EQ(plan.category, "math");
  EXPECT_EQ(plan.model->name, "big");
  EXPECT_EQ(plan.confidence, 1);
  EXPECT_EQ(plan.reasoning, true);
  EXPECT_EQ(plan.reasoning_effort, "low");
  EXPECT_TRUE(plan.injected_system_prompt);
  ASSERT_EQ(plan.matched.size(), 1U);
  EXPECT_EQ(plan.matched[0].type, "keyword");
  EXPECT_EQ(plan.matched[0].names, (std::vector<std::string>{"math"}));
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(
      plan.body,
      R"({"model":"big","messages":[{"role":"system","content":"Prove it."},{"role":"user","content":"Explain the proof of the theorem"}],"chat_template_kwargs":{"thinking":true}})");
}

TEST_F(RouterTest, without_a_keyword_meaning_decides) {
  const Plan plan = plan_for("please sue the tenant");
  EXPECT_EQ(plan.decision, "law");
  EXPECT_EQ(plan.reasoning, false);
  ASSERT_EQ(plan.matched.size(), 1U);
  EXPECT_EQ(plan.matched[0].type, "embedding");
  EXPECT_EQ(plan.matched[0].names, (std::vector<std::string>{"law"}));
  EXPECT_EQ(calls_, 1);
}

TEST_F(RouterTest, two_keywords_of_equal_rank_need_no_model_either) {
  const Plan plan = plan_for("a proof in court");
  EXPECT_EQ(plan.decision, "law");  // one of one keyword outweighs one of two
  EXPECT_EQ(calls_, 0);
}

TEST_F(RouterTest, when_nothing_matches_the_default_model_answers) {
  const Plan plan = plan_for("hello");
  EXPECT_EQ(plan.decision, "");
  EXPECT_EQ(plan.model->name, "small");
  EXPECT_FALSE(plan.reasoning);
  EXPECT_EQ(plan.body, R"({"model":"small","messages":[{"role":"user","content":"hello"}]})");
}

TEST_F(RouterTest, a_concrete_model_bypasses_routing) {
  const request::ChatRequest request = request_with("Explain the proof", "big");
  Evaluation evaluation = router_->evaluate(request);
  EXPECT_TRUE(evaluation.run_cheap());
  const auto plan = evaluation.plan();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->bypassed);
  EXPECT_EQ(plan->model->name, "big");
  EXPECT_EQ(plan->body, request.document.source());
  EXPECT_EQ(evaluation.explain_words(), "The client names the model big; nothing is decided.");
}

TEST_F(RouterTest, an_unknown_model_is_not_found) {
  const request::ChatRequest request = request_with("x", "gpt-x");
  Evaluation evaluation = router_->evaluate(request);
  EXPECT_TRUE(evaluation.run_cheap());
  const auto plan = evaluation.plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kNotFound);
  EXPECT_EQ(plan.error().message,
            "model: unknown model \"gpt-x\" (known: auto, vllm-sr/auto, MoM, small, big)");
}

TEST_F(RouterTest, an_unknown_name_is_repeated_in_part_and_escaped) {
  const request::ChatRequest request = request_with("x", std::string(10'000, 'm'));
  const auto plan = router_->evaluate(request).plan();
  ASSERT_FALSE(plan);
  EXPECT_LT(plan.error().message.size(), 200U);
  const request::ChatRequest broken = request_with("x", "a\n\x1b[2J\"b");
  EXPECT_NE(router_->evaluate(broken).plan().error().message.find(R"("a\n\u001b[2J\"b")"),
            std::string::npos);
}

TEST_F(RouterTest, a_decision_with_a_missing_plugin_refuses_the_request) {
  const request::ChatRequest request = request_with("forbidden proof");
  Evaluation evaluation = router_->evaluate(request);
  EXPECT_TRUE(evaluation.run_cheap());
  const auto plan = evaluation.plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kUnsupported);
  EXPECT_EQ(plan.error().message,
            "decision \"blocked\" needs the plugin rag, which this router lacks");
}

TEST_F(RouterTest, a_failing_model_is_reported_and_the_rest_stands) {
  fail_ = true;
  const request::ChatRequest request = request_with("sue the tenant");
  Evaluation evaluation = router_->evaluate(request);
  EXPECT_FALSE(evaluation.run_cheap());
  const auto done = evaluation.run_needed();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "embedding signals: the model is gone");
  const auto plan = evaluation.plan();
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->model->name, "small");
  EXPECT_NE(evaluation.explain_words().find("the model failed"), std::string::npos);
}

TEST_F(RouterTest, run_all_computes_unneeded_signals) {
  const request::ChatRequest request = request_with("the proof of how to solve the equation");
  Evaluation evaluation = router_->evaluate(request);
  ASSERT_TRUE(evaluation.run_all());
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(evaluation.plan()->decision, "math");
}

TEST_F(RouterTest, explains_itself_in_json) {
  const request::ChatRequest request = request_with("a theorem");
  Evaluation evaluation = router_->evaluate(request);
  evaluation.run_cheap();
  const auto document = json::Document::parse(evaluation.explain_json());
  ASSERT_TRUE(document) << document.error().message;
  const json::Value root = document->root();
  const auto keyword = root.find("signals")->find("keyword")->find("math");
  EXPECT_EQ(keyword->raw(),
            R"({"matched":true,"confidence":0.75,"score":0.5,"evidence":["theorem"]})");
  const auto embedding = root.find("signals")->find("embedding")->find("law");
  EXPECT_EQ(embedding->raw(),
            R"({"matched":null,"why":"never needed: the outcome was fixed without it"})");
  std::vector<std::string> trace;
  for (const json::Value& each : root.find("trace")->items()) {
    trace.push_back(fmt::format("{} {} {}", each.find("decision")->text(),
                                each.find("selected")->raw(), each.find("matched")->raw()));
  }
  EXPECT_EQ(trace, (std::vector<std::string>{"math true true", "law false false",
                                             "blocked false false", "unbuilt false null"}));
}

TEST_F(RouterTest, explains_itself_in_words) {
  const request::ChatRequest request = request_with("a theorem");
  Evaluation evaluation = router_->evaluate(request);
  evaluation.run_cheap();
  EXPECT_EQ(
      evaluation.explain_words(),
      "Decision math (priority 10, confidence 0.75), because\n"
      "  keyword math matches (0.75): \"theorem\"\n"
      "Signals\n"
      "  keyword math matches (0.75): \"theorem\"\n"
      "  keyword does not match: law, banned\n"
      "  embedding: 2 signals, never needed: the outcome was fixed without it\n"
      "  jailbreak: 1 signal, there is no model at models/mmbert32k-jailbreak-detector-merged; "
      "fetch it with "
      "`signalbox models pull hf:llm-semantic-router/mmbert32k-jailbreak-detector-merged`");
}

TEST_F(RouterTest, headers_describe_the_plan) {
  const auto joined = [](const Plan& plan, bool debug) {
    std::string out;
    for (const Header& header : response_headers(plan, debug))
      out += fmt::format("{}: {}\n", header.name, header.value);
    return out;
  };
  Plan plan = plan_for("Explain the proof of the theorem");
  EXPECT_EQ(
      joined(plan, false),
      "x-vsr-schema-version: 2\nx-vsr-response-path: upstream\nx-vsr-selected-recipe: default\n"
      "x-vsr-selected-decision: math\nx-vsr-selected-confidence: 1.0000\n"
      "x-vsr-selected-algorithm: static\nx-vsr-selected-model: big\nx-vsr-selected-category: math\n"
      "x-vsr-selected-reasoning: on\n"
      "x-vsr-injected-system-prompt: true\n");
  EXPECT_EQ(joined(plan, true), joined(plan, false) + "x-vsr-matched-keywords: math\n");
  EXPECT_EQ(joined(plan_for("hello"), true),
            "x-vsr-schema-version: 2\nx-vsr-response-path: upstream\nx-vsr-selected-recipe: "
            "default\nx-vsr-selected-model: small\nx-vsr-injected-system-prompt: false\n");
  EXPECT_EQ(plan_words(plan), "Model big, reasoning on (effort low), system prompt added");
  plan.decision = "a\r\nset-cookie: x\xC3\xA9%";
  EXPECT_NE(joined(plan, false).find("decision: a%0D%0Aset-cookie: x%C3%A9%25\n"),
            std::string::npos);
}

TEST_F(RouterTest, one_router_serves_many_threads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string_view text = (t + i) % 2 == 0 ? "a theorem" : "sue the tenant";
        const request::ChatRequest request = request_with(text);
        Evaluation evaluation = router_->evaluate(request);
        if (!evaluation.run_cheap() && !evaluation.run_needed()) ++wrong;
        const auto plan = evaluation.plan();
        if (!plan || plan->decision != ((t + i) % 2 == 0 ? "math" : "law")) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

constexpr std::string_view kRecipes = R"(version: v0.3
providers:
  defaults: {default_model: small}
  models: [{name: small, backend_refs: [{type: echo}]}, {name: big, backend_refs: [{type: echo}]}]
routing:
  signals: {keywords: [{name: k, keywords: [alpha]}]}
  decisions: [{name: first, rules: {type: keyword, name: k}, modelRefs: [{model: small}]}]
entrypoints:
  - {model_names: [other, auto], recipe: second}
  - {model_names: [top], recipe: default}
recipes:
  - name: second
    routing:
      signals: {keywords: [{name: k, keywords: [beta]}], jailbreak: [{name: j}]}
      decisions: [{name: second, rules: {type: keyword, name: k}, modelRefs: [{model: big}]}]
)";

TEST(Router, the_model_name_selects_the_routing) {
  auto loaded = config::parse(kRecipes, "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto router = Router::create(std::move(loaded->config), {});
  ASSERT_TRUE(router) << router.error().message;
  const auto route_of = [&](std::string_view model) {
    json::Writer out;
    out.begin_object().member("model", model).key("messages").begin_array();
    out.begin_object().member("role", "user").member("content", "alpha beta").end_object();
    const auto request = request::ChatRequest::parse(out.end_array().end_object().take());
    Evaluation evaluation = (*router)->evaluate(*request);
    EXPECT_TRUE(evaluation.run_cheap());
    const auto plan = evaluation.plan();
    if (!plan) return plan.error().message;
    return fmt::format("{} {} {}", plan->recipe, plan->decision, plan->model->name);
  };
  EXPECT_EQ(route_of("other"), "second second big");
  EXPECT_EQ(route_of("auto"), "second second big");  // an entrypoint may use an automatic name
  EXPECT_EQ(route_of("MoM"), "default first small");
  EXPECT_EQ(route_of("top"), "default first small");
  EXPECT_EQ(route_of("big"), "  big");
  EXPECT_EQ(route_of("x"),
            "model: unknown model \"x\" (known: auto, vllm-sr/auto, MoM, other, auto, top, small, "
            "big)");
  ASSERT_EQ((*router)->notices().size(), 1U);
  EXPECT_EQ((*router)->notices()[0].substr(0, 43), "test.yaml: recipe second: jailbreak signals");
}

TEST(Router, a_signal_that_is_not_built_is_named_once) {
  auto loaded = config::parse(R"(version: v0.3
providers: {models: [{name: m, backend_refs: [{type: echo}]}]}
routing:
  decisions:
    - name: d
      rules:
        operator: OR
        conditions:
          - {type: session_metric, name: s}
          - {type: session_metric, name: t}
          - {type: session_metric, name: s}
)",
                              "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto router = Router::create(std::move(loaded->config), {});
  ASSERT_TRUE(router) << router.error().message;
  ASSERT_EQ((*router)->notices().size(), 1u);
  EXPECT_TRUE(
      (*router)->notices()[0].starts_with("test.yaml: session_metric signals are unavailable "
                                          "(s, t): this type is not built; "))
      << (*router)->notices()[0];
}

TEST(Router, embedding_signals_are_unavailable_without_an_embedder) {
  auto loaded = config::parse(kConfig, "test.yaml");
  const auto router = Router::create(std::move(loaded->config), {});
  ASSERT_TRUE(router) << router.error().message;
  ASSERT_FALSE((*router)->notices().empty());
  EXPECT_NE((*router)->notices()[0].find("there is no embedding model"), std::string::npos);
}

}  // namespace
}  // namespace signalbox::routing
