// The notices of decisions that refuse requests and cannot: another decision wins, or their model
// is switched off.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "router/config/load.h"

namespace signalbox::config {
namespace {

std::string notices_for(const std::string& text) {
  const auto loaded = parse(text, "f.yaml");
  if (!loaded) return "refused: " + loaded.error().message;
  std::string all;
  for (const std::string& notice : loaded->notices) all += notice + "\n";
  return all;
}

TEST(Guards, a_guard_that_another_decision_can_outrank_gives_a_notice) {
  const auto notices = [](std::string_view routing, std::string_view guard, std::string_view more) {
    return notices_for(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: a}}
  models: [{{name: a, backend_refs: [{{name: e, type: echo}}]}}]
routing:
  {}
  signals:
    keywords: [{{name: k, keywords: [w]}}]
    jailbreak: [{{name: attack}}]
  decisions:
    - name: refuse
      {}
      rules: {{type: jailbreak, name: attack}}
      modelRefs: [{{model: a}}]
      plugins: [{{type: fast_response, configuration: {{message: no}}}}]
    - {{name: rest, priority: 1, modelRefs: [{{model: a}}]}}
    - {{name: other, priority: 50, modelRefs: [{{model: a}}], {}}}
)",
                                   routing, guard, more));
  };
  const std::string keyword = "rules: {type: keyword, name: k}";
  const std::string start =
      "f.yaml:11: routing.decisions[0]: the guard \"refuse\" does not refuse a request that also "
      "matches \"";
  const std::string low =
      start +
      "other\", because that decision can rank above it; give the guard the highest priority\n";
  const std::string by_tier =
      start +
      "other\", because that decision can rank above it; give the guard a lower tier than that of "
      "every other decision\n";
  EXPECT_EQ(notices("", "priority: 51", keyword), "");
  EXPECT_EQ(notices("", "priority: 49", keyword), low);
  EXPECT_EQ(notices("", "priority: 50", keyword), low) << "equal priorities compare confidences";
  EXPECT_EQ(notices("", "priority: 0", keyword),
            start +
                "rest\" or one of 1 more, because that decision can rank above it; give the "
                "guard the highest priority\n");
  EXPECT_EQ(notices("", "tier: 2", keyword), "");
  EXPECT_EQ(notices("", "tier: 2", "tier: 1, " + keyword), by_tier);
  EXPECT_EQ(notices("", "priority: 99", "tier: 1, " + keyword), low);
  EXPECT_EQ(notices("strategy: confidence", "priority: 99", keyword), by_tier);
  EXPECT_EQ(notices("strategy: confidence", "priority: 99", "rules: {}"), "")
      << "a rule without conditions has the confidence 0";
  EXPECT_EQ(notices("", "priority: 2",
                    "rules: {operator: AND, conditions: [{type: keyword, name: k}, {operator: NOT, "
                    "conditions: [{type: jailbreak, name: attack}]}]}"),
            "")
      << "it leaves attacks to the guard";
  EXPECT_EQ(notices("", "priority: 2",
                    keyword + ", plugins: [{type: fast_response, configuration: {message: no}}]"),
            "")
      << "it refuses, too";
}

TEST(Guards, a_guard_whose_model_is_switched_off_gives_a_notice) {
  const auto notices = [](std::string_view signal, std::string_view enabled) {
    return notices_for(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: a}}
  models: [{{name: a, backend_refs: [{{name: e, type: echo}}]}}]
routing:
  signals: {{jailbreak: [{{name: attack, {}}}]}}
  decisions:
    - name: refuse
      rules: {{type: jailbreak, name: attack}}
      modelRefs: [{{model: a}}]
      plugins: [{{type: fast_response, configuration: {{message: no}}}}]
global: {{model_catalog: {{modules: {{prompt_guard: {{enabled: {}}}}}}}}}
)",
                                   signal, enabled));
  };
  EXPECT_EQ(notices("method: classifier", "true"), "");
  EXPECT_EQ(notices("method: classifier", "false"),
            "f.yaml:8: routing.decisions[0]: the guard \"refuse\" refuses nothing by the jailbreak "
            "signal \"attack\", because global.model_catalog.modules.prompt_guard.enabled is "
            "false\n");
  EXPECT_EQ(notices("method: contrastive, jailbreak_patterns: [x]", "false"), "");
}

}  // namespace
}  // namespace signalbox::config
