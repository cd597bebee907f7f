// The notices of decisions that refuse or route requests and cannot: another decision wins, or
// their model is switched off.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

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
      "other\", because that decision can rank above it; give every other decision a higher tier "
      "than the guard's\n";
  EXPECT_EQ(notices("", "priority: 51", keyword), "");
  EXPECT_EQ(notices("", "priority: 49", keyword), low);
  EXPECT_EQ(notices("", "priority: 50", keyword), low) << "its name comes first";
  EXPECT_EQ(notices("", "priority: 1", keyword), low) << "\"rest\" has no conditions";
  EXPECT_EQ(notices("", "tier: 2\n      priority: 51", keyword),
            start +
                "rest\" or 1 other decision, because each of them can rank above it; give every "
                "other decision a higher tier than the guard's\n")
      << "a priority does not help against a tier";
  EXPECT_EQ(notices("strategy: confidence", "priority: 99", keyword), "") << "no scores to compare";
  EXPECT_EQ(notices("strategy: confidence", "priority: 49", keyword), low);
  EXPECT_EQ(notices("strategy: fusion", "priority: 99", keyword), by_tier);
  EXPECT_EQ(notices("strategy: confidence", "priority: 99", "rules: {}"), "");
  EXPECT_EQ(notices("strategy: fusion", "priority: 99", "rules: {}"), "");
  EXPECT_EQ(notices("", "priority: 2",
                    keyword + ", plugins: [{type: fast_response, configuration: {message: no}}]"),
            "")
      << "it refuses, too";
}

TEST(Guards, confidences_count_only_between_scores_of_one_kind) {
  const auto notice = [](std::string_view strategy, std::string_view guard,
                         std::string_view other) {
    const std::string all = notices_for(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: a}}
  models: [{{name: a, backend_refs: [{{name: e, type: echo}}]}}]
routing:
  strategy: {}
  signals:
    keywords: [{{name: k, keywords: [w]}}]
    domains: [{{name: law}}]
    embeddings: [{{name: near, candidates: [x], threshold: 0.5}}]
    safety: [{{name: risk}}]
  decisions:
    - name: refuse
      priority: {}
      rules: {{type: safety, name: risk}}
      modelRefs: [{{model: a}}]
      plugins: [{{type: fast_response, configuration: {{message: no}}}}]
    - {{name: other, priority: 2, modelRefs: [{{model: a}}], rules: {}}}
)",
                                                    strategy, guard, other));
    EXPECT_EQ(all.find("refused: "), std::string::npos) << all;
    const size_t at = all.find("can rank above it; ");
    return at == std::string::npos ? "" : all.substr(at, all.find('\n', at) - at);
  };
  const std::string by_priority = "can rank above it; give the guard the highest priority";
  const std::string by_tier =
      "can rank above it; give every other decision a higher tier than the guard's";
  const std::string keyword = "{type: keyword, name: k}";
  const std::string law = "{type: domain, name: law}";
  const std::string near = "{type: embedding, name: near}";
  const auto either = [](const std::string& a, const std::string& b) {
    return fmt::format("{{operator: OR, conditions: [{}, {}]}}", a, b);
  };
  EXPECT_EQ(notice("confidence", "9", law), by_tier) << "both are probabilities";
  EXPECT_EQ(notice("confidence", "9", either(keyword, law)), by_tier);
  EXPECT_EQ(notice("confidence", "9", near), "");
  EXPECT_EQ(notice("confidence", "9", keyword), "");
  EXPECT_EQ(notice("confidence", "9", either(near, law)), "") << "its score may be of either kind";
  EXPECT_EQ(notice("confidence", "1", near), by_priority);
  EXPECT_EQ(notice("priority", "2", law), by_priority);
  EXPECT_EQ(notice("priority", "2", near), by_priority) << "its name comes first";
  EXPECT_EQ(notice("fusion", "9", near), by_tier);
}

TEST(Guards, a_decision_that_cannot_match_beside_the_guard_gives_no_notice) {
  const auto has_notice = [](std::string_view guard, std::string_view other) {
    const std::string all = notices_for(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: a}}
  models: [{{name: a, backend_refs: [{{name: e, type: echo}}]}}]
routing:
  signals:
    keywords: [{{name: k, keywords: [w]}}]
    jailbreak: [{{name: attack}}, {{name: other}}]
  decisions:
    - name: refuse
      priority: 1
      rules: {}
      modelRefs: [{{model: a}}]
      plugins: [{{type: fast_response, configuration: {{message: no}}}}]
    - {{name: other, priority: 2, modelRefs: [{{model: a}}], rules: {}}}
)",
                                                    guard, other));
    EXPECT_EQ(all.find("refused"), std::string::npos) << all;
    return all.find("does not refuse a request that also matches \"other\"") != std::string::npos;
  };
  const auto leaf = [](std::string_view more) {
    return fmt::format("{{type: jailbreak, name: {}}}", more);
  };
  const auto tree = [](std::string_view op, std::string_view conditions) {
    return fmt::format("{{operator: {}, conditions: [{}]}}", op, conditions);
  };
  const std::string keyword = "{type: keyword, name: k}";
  const std::string attack = leaf("attack");
  const std::string either = tree("OR", attack + ", " + leaf("other"));
  EXPECT_TRUE(has_notice(attack, keyword));
  EXPECT_FALSE(has_notice(attack, tree("AND", keyword + ", " + tree("NOT", attack))));
  EXPECT_FALSE(has_notice(attack, tree("NOT", either)));
  EXPECT_FALSE(has_notice(either, tree("NOT", either)));
  EXPECT_FALSE(
      has_notice(either, tree("AND", tree("NOT", attack) + ", " + tree("NOT", leaf("other")))));
  EXPECT_TRUE(has_notice(either, tree("NOT", attack))) << "a match of the other signal passes";
  EXPECT_TRUE(has_notice(attack, tree("NOT", leaf("other")))) << "another signal";
  EXPECT_TRUE(has_notice(attack, tree("OR", keyword + ", " + tree("NOT", attack))));
  EXPECT_TRUE(has_notice(attack, tree("NOT", tree("AND", keyword + ", " + attack))));
  EXPECT_TRUE(has_notice(attack, tree("NOT", leaf("attack, predicate: {gte: 0.9}"))))
      << "an attack below the bound passes";
  EXPECT_FALSE(has_notice(tree("AND", attack + ", " + tree("NOT", keyword)), keyword))
      << "the guard leaves these requests to it";
}

TEST(Guards, so_many_that_comparing_takes_long_give_one_notice) {
  std::string text = R"(version: v0.3
providers:
  defaults: {default_model: a}
  models: [{name: a, backend_refs: [{name: e, type: echo}]}]
routing:
  signals: {jailbreak: [{name: attack}]}
  decisions:
)";
  constexpr int kGuards = 2000;
  for (int i = 0; i < kGuards; ++i)
    text += fmt::format(
        "    - {{name: g{}, rules: {{type: jailbreak, name: attack}}, modelRefs: [{{model: a}}], "
        "plugins: [{{type: fast_response, configuration: {{message: no}}}}]}}\n",
        i);
  const std::string notices = notices_for(text);
  EXPECT_EQ(std::ranges::count(notices, '\n'), 1) << notices;
  EXPECT_NE(notices.find("routing.decisions[1500]: the guard \"g1500\" and those after it were not "
                         "compared"),
            std::string::npos)
      << notices;
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

TEST(Guards, a_decision_on_safety_whose_model_is_switched_off_gives_a_notice) {
  const auto notices = [](std::string_view effect, std::string_view enabled) {
    return notices_for(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: a}}
  models: [{{name: a, backend_refs: [{{name: e, type: echo}}]}}]
routing:
  signals: {{safety: [{{name: risk}}]}}
  decisions:
    - {{name: contain, rules: {{type: safety, name: risk}}, {}}}
global: {{model_catalog: {{modules: {{safety: {{safety: {{enabled: {}}}}}}}}}}}
)",
                                   effect, enabled));
  };
  constexpr std::string_view kRefuses =
      "plugins: [{type: fast_response, configuration: {message: no}}]";
  constexpr std::string_view kRoutes = "action: {type: route, destination: a}";
  const auto notice = [](std::string_view verb) {
    return fmt::format(
        "f.yaml:8: routing.decisions[0]: the guard \"contain\" {} nothing by the safety signal "
        "\"risk\", because global.model_catalog.modules.safety.safety.enabled is false\n",
        verb);
  };
  EXPECT_EQ(notices(kRefuses, "true"), "");
  EXPECT_EQ(notices(kRefuses, "false"), notice("refuses"));
  EXPECT_EQ(notices(kRoutes, "false"), notice("routes"));
}

}  // namespace
}  // namespace signalbox::config
