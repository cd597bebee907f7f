// Tests a pool and a route on top of a configuration file. The resources are written in the form of
// their definitions.

#include "router/kubernetes/overlay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/json.h"
#include "router/config/load.h"
#include "router/kubernetes/folder.h"
#include "router/kubernetes/status.h"

namespace signalbox::kubernetes {
namespace {

constexpr std::string_view kFile = R"(version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 8801}
providers:
  defaults:
    default_model: old
    reasoning_families:
      qwen3: {type: chat_template_kwargs, parameter: enable_thinking}
  models:
    - name: old
      backend_refs: [{name: a, endpoint: "10.0.0.1:8000"}]
    - name: small
      pricing: {prompt_per_1m: 99}
      backend_refs: [{name: b, endpoint: "10.0.0.2:8000"}]
    - name: large
      backend_refs: [{name: c, endpoint: "10.0.0.3:8000"}]
routing:
  strategy: priority
  signals:
    keywords: [{name: gone, operator: OR, keywords: [gone]}]
  decisions:
    - {name: gone, rules: {type: keyword, name: gone}, modelRefs: [{model: old}]}
)";

constexpr std::string_view kPool = R"({
  "defaultModel": "small",
  "models": [
    {"name": "small", "pricing": {"currency": "EUR", "inputTokenPrice": 0.0000001, "outputTokenPrice": 4e-7},
     "loras": [{"name": "sql", "description": "Queries"}]},
    {"name": "large", "reasoningFamily": "qwen3"}
  ]})";

constexpr std::string_view kRoute = R"({
  "signals": {
    "keywords": [{"name": "code", "operator": "OR", "keywords": ["c++", "yes"], "caseSensitive": true}],
    "embeddings": [{"name": "how", "threshold": 0.7, "candidates": ["how do I"], "aggregationMethod": "max"}],
    "domains": [{"name": "law", "description": "Contracts"}],
    "contextRules": [{"name": "long", "minTokens": "16K"}],
    "structure": [{"name": "asks", "feature": {"type": "count", "source": {"type": "keyword_set", "keywords": ["?"], "caseSensitive": true}},
                   "predicate": {"gte": 2}}],
    "conversation": [{"name": "tools", "feature": {"type": "exists", "source": {"type": "tool_definition"}}}],
    "events": [{"name": "outage", "eventTypes": ["outage"], "actionCodes": ["A1"], "temporal": true}],
    "factCheckRules": [{"name": "needs_fact_check"}]
  },
  "decisions": [{
    "name": "code", "priority": 7, "description": "It is \"code\"",
    "signals": {"operator": "AND", "conditions": [{"type": "keyword", "name": "code"}, {"type": "context", "name": "long"}]},
    "modelRefs": [{"model": "large", "useReasoning": true, "reasoningEffort": "high"}],
    "plugins": [{"type": "system_prompt", "configuration": {"system_prompt": "Home is ${HOME}, $${HOME} and $HOME.", "mode": "insert"}}]
  }, {
    "name": "sql", "signals": {"operator": "OR", "conditions": [{"type": "embedding", "name": "how"}]},
    "modelRefs": [{"model": "small", "loraName": "sql"}]
  }]})";

yaml::Node spec(std::string_view text) {
  const auto event = read_event(fmt::format(
      R"({{"type":"ADDED","object":{{"metadata":{{"name":"x","resourceVersion":"1"}},"spec":{}}}}})",
      text));
  EXPECT_TRUE(event) << event.error().message;
  return event ? event->resource.spec : yaml::Node{};
}

config::Loaded loaded(std::string_view pool, std::string_view route) {
  const auto text = lay_over(kFile, "config.yaml", spec(pool), spec(route));
  EXPECT_TRUE(text) << text.error().message;
  auto config = config::parse(text ? *text : "", "config.yaml", {.strict = true});
  EXPECT_TRUE(config) << config.error().message << "\n" << *text;
  return config ? *std::move(config) : config::Loaded{};
}

TEST(Overlay, resources_take_precedence_over_the_file) {
  const config::Config config = loaded(kPool, kRoute).config;
  EXPECT_EQ(config.providers.default_model, "small");
  EXPECT_EQ(config.providers.models.size(), 3U);
  const config::Model& small = *config.providers.find("small");
  EXPECT_DOUBLE_EQ(small.pricing->prompt_per_1m, 0.1);
  EXPECT_DOUBLE_EQ(small.pricing->completion_per_1m, 0.4);
  EXPECT_EQ(small.pricing->currency, "EUR");
  EXPECT_EQ(small.backend_refs.front().host, "10.0.0.2");
  EXPECT_EQ(config.providers.find("large")->reasoning_family, "qwen3");
  const config::Routing& routing = config.routing;
  ASSERT_EQ(routing.keywords.size(), 1U);
  EXPECT_TRUE(routing.keywords[0].case_sensitive);
  EXPECT_EQ(routing.keywords[0].keywords, (std::vector<std::string>{"c++", "yes"}));
  ASSERT_EQ(routing.decisions.size(), 2U);
  EXPECT_EQ(routing.decisions[0].name, "code");
  EXPECT_EQ(routing.decisions[0].priority, 7);
  EXPECT_EQ(routing.decisions[0].description, "It is \"code\"");
  EXPECT_EQ(routing.decisions[0].model_refs[0].model, "large");
  EXPECT_EQ(routing.decisions[0].model_refs[0].use_reasoning, true);
  EXPECT_EQ(routing.decisions[1].model_refs[0].lora_name, "sql");
  EXPECT_EQ(routing.model_cards.size(), 2U);
  EXPECT_EQ(routing.model_cards[0].loras.front().name, "sql");
  EXPECT_EQ(routing.domains[0].mmlu_categories, (std::vector<std::string>{"law"}));
  EXPECT_EQ(routing.context.size() + routing.structure.size() + routing.conversation.size() +
                routing.events.size() + routing.fact_check.size() + routing.embeddings.size(),
            6U);
}

TEST(Overlay, reads_no_variable_of_the_environment_for_a_resource) {
  ::setenv("HOME", "/secret", 1);
  const config::Config config = loaded(kPool, kRoute).config;
  EXPECT_EQ(config.routing.decisions[0].system_prompt->system_prompt,
            "Home is ${HOME}, $${HOME} and $HOME.");
}

std::string refusal(std::string_view pool, std::string_view route, std::string_view file = kFile) {
  const auto text = lay_over(file, "config.yaml", spec(pool), spec(route));
  return text ? "taken" : text.error().message;
}

TEST(Overlay, errors_name_the_resource_and_the_place) {
  EXPECT_EQ(refusal("{}", "{}"), "IntelligentPool: spec.defaultModel: missing");
  EXPECT_EQ(refusal(R"({"defaultModel":"small","models":[{}]})", "{}"),
            "IntelligentPool: spec.models[0].name: missing");
  EXPECT_EQ(refusal(R"({"defaultModel":"small","models":[1]})", "{}"),
            "IntelligentPool: spec.models[0]: expected an object");
  EXPECT_EQ(refusal(R"({"defaultModel":"small","models":{}})", "{}"),
            "IntelligentPool: spec.models: expected an array");
  EXPECT_EQ(
      refusal(
          R"({"defaultModel":"small","models":[{"name":"small","pricing":{"inputTokenPrice":-1}}]})",
          "{}"),
      "IntelligentPool: spec.models[0].pricing.inputTokenPrice: expected a price per token");
  EXPECT_EQ(
      refusal(R"({"defaultModel":"small","models":[{"name":"small","reasoning":{"type":"x"}}]})",
              "{}"),
      "IntelligentPool: spec.models[0].reasoning: only \"family\" is supported");
  EXPECT_EQ(refusal(kPool, R"({"signals":{"moods":[]}})"),
            "IntelligentRoute: spec.signals.\"moods\": unknown");
  EXPECT_EQ(refusal(kPool, R"({"decisions":"x"})"),
            "IntelligentRoute: spec.decisions: expected an array");
  EXPECT_EQ(refusal(kPool, kRoute, "listeners: []"),
            "config.yaml: version: resources require a file of version v0.3");
  EXPECT_EQ(refusal(kPool, kRoute, "version: v0.3\nproviders: 5"),
            "config.yaml:2: providers: expected a mapping");
  EXPECT_EQ(refusal(kPool, kRoute), "taken");
}

TEST(Overlay, models_without_a_server_are_refused_by_the_configuration) {
  const auto text =
      lay_over(kFile, "config.yaml", spec(R"({"defaultModel":"new","models":[{"name":"new"}]})"),
               spec(R"({"decisions":[]})"));
  ASSERT_TRUE(text);
  const auto config = config::parse(*text, "config.yaml");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("providers.models[3].backend_refs"), std::string::npos)
      << config.error().message;
}

TEST(Status, is_written_once) {
  const auto event = read_event(
      R"({"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"1","generation":4},"spec":{"models":[1,2]}}})");
  ASSERT_TRUE(event);
  Resource resource = event->resource;
  EXPECT_EQ(
      *status_patch(Kind::kPool, resource, {"Ready", ""}, "2026-01-01T00:00:00Z"),
      R"({"status":{"observedGeneration":4,"modelCount":2,"conditions":[{"type":"Ready","status":"True",)"
      R"("reason":"Ready","message":"Configuration applied successfully",)"
      R"("lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":4}]}})");
  const auto patch =
      status_patch(Kind::kRoute, resource, {"ValidationFailed", "why"}, "2026-01-01T00:00:00Z");
  ASSERT_TRUE(patch);
  EXPECT_NE(patch->find(R"("statistics":{"decisions":0,"keywords":0,"embeddings":0,"domains":0})"),
            std::string::npos);
  EXPECT_NE(patch->find(R"("status":"False","reason":"ValidationFailed","message":"why")"),
            std::string::npos);
  // The resource as the server returns it.
  const auto stored = read_event(fmt::format(
      R"({{"type":"MODIFIED","object":{{"metadata":{{"name":"x","resourceVersion":"2","generation":4}},{}}})",
      patch->substr(1)));
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_FALSE(status_patch(Kind::kRoute, stored->resource, {"ValidationFailed", "why"}, "later"));
  EXPECT_TRUE(status_patch(Kind::kRoute, stored->resource, {"Ready", ""}, "later"));
}

TEST(Folder, resources_are_read_from_files_and_other_files_passed_over) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "signalbox_resources";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "..data");
  const auto write = [&](const char* name, std::string_view text) {
    std::ofstream(folder / name) << text;
  };
  write("pool.yaml", "kind: IntelligentPool\nspec: {defaultModel: small}\n");
  write("route.json", R"({"kind":"IntelligentRoute","spec":{"decisions":[]}})");
  write("service.yml", "kind: Service\n");
  write("notes.txt", "kind: IntelligentRoute\n");
  const auto texts = read_texts(folder);
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_EQ(texts->size(), 3U);
  const auto found = read_resources(*texts);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->pools.size(), 1U);
  EXPECT_EQ(found->routes.size(), 1U);
  write("pool.yaml", "kind: [");
  EXPECT_FALSE(read_resources(*read_texts(folder)));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(read_texts(folder).error().code, Code::kIo);
}

}  // namespace
}  // namespace signalbox::kubernetes
