// The parts of a file that choose a model or a recipe for a request: actions and tiers of
// decisions, and rules of entrypoints. Also the parts of early files that are read as these.

#include <gtest/gtest.h>

#include "tests/router/config/newer_forms.h"

namespace signalbox::config {
namespace {

// --- actions ---

std::string with_action(std::string_view action, std::string_view more = "") {
  return fmt::format(
      "{}routing:\n  decisions:\n    - name: d\n      modelRefs: [{{model: small, weight: 2}}, "
      "{{model: large, use_reasoning: true}}]\n      action: {}\n{}",
      kTwoModels, action, more);
}

TEST(Actions, the_destination_comes_before_the_other_models) {
  const Config config = newer_config(with_action("{type: route, destination: large}"));
  const Decision& decision = config.routing.decisions.at(0);
  ASSERT_EQ(decision.model_refs.size(), 2u);
  EXPECT_EQ(decision.model_refs[0].model, "large");
  EXPECT_EQ(decision.model_refs[0].use_reasoning, true) << "its settings stay";
  EXPECT_EQ(decision.model_refs[1].model, "small");
  EXPECT_FALSE(decision.model_refs[1].weight) << "no weight draws another model";
  EXPECT_TRUE(binds_named_models(decision));
}

TEST(Actions, an_algorithm_beside_one_has_no_effect) {
  const std::string file =
      with_action("{type: route, destination: large}", "      algorithm: {type: ratings}\n");
  EXPECT_EQ(newer_config(file).routing.decisions.at(0).algorithm.type, "static");
  EXPECT_EQ(newer_notices(file),
            "f.yaml:12: routing.decisions[0].algorithm: has no effect: action names the model");
}

TEST(Actions, mistakes_are_errors) {
  EXPECT_EQ(newer_errors(with_action("{}")), "accepted");
  EXPECT_EQ(newer_errors(with_action("{type: route, destination: lrage}")),
            "f.yaml:11: routing.decisions[0].action.destination: unknown model \"lrage\"; did you "
            "mean \"large\"?");
  EXPECT_EQ(newer_errors(with_action("{type: route}")),
            "f.yaml:11: routing.decisions[0].action.destination: missing; expected type: route and "
            "a destination");
  EXPECT_EQ(newer_errors(with_action("{destination: large}")),
            "f.yaml:11: routing.decisions[0].action.type: missing; expected type: route and a "
            "destination");
  EXPECT_EQ(newer_errors(with_action("{type: block, destination: large}")),
            "f.yaml:11: routing.decisions[0].action.type: expected one of route, found \"block\"");
}

TEST(Actions, a_guard_that_another_decision_precedes_gets_a_notice) {
  const std::string notices = newer_notices(std::string(kTwoModels) + R"(routing:
  signals: {jailbreak: [{name: j}], keywords: [{name: k, keywords: [x]}]}
  decisions:
    - {name: safe, priority: 1, rules: {type: jailbreak, name: j}, action: {type: route, destination: large}}
    - {name: other, priority: 2, rules: {type: keyword, name: k}, modelRefs: [{model: small}]}
)");
  EXPECT_EQ(
      notices,
      "f.yaml:10: routing.decisions[0]: the guard \"safe\" does not route a request that also "
      "matches \"other\", because that decision can rank above it; give the guard the "
      "highest priority");
}

// --- algorithms and groups ---

std::string with_rules(std::string_view rules, std::string_view more = "") {
  return fmt::format(
      "{}routing:\n  decisions: [{{name: d, rules: {}, modelRefs: [{{model: small}}]{}}}]\n",
      kTwoModels, rules, more);
}

TEST(Algorithms, older_ones_are_read_as_static_with_a_notice) {
  for (const std::string_view name : {"elo", "session_aware", "decision", "hiershrink"}) {
    const std::string file =
        with_rules("{operator: AND}", fmt::format(", algorithm: {{type: {}}}", name));
    EXPECT_EQ(newer_config(file).routing.decisions.at(0).algorithm.type, "static");
    EXPECT_EQ(newer_notices(file),
              fmt::format("f.yaml:8: routing.decisions[0].algorithm.type: \"{}\" is read as static "
                          "(docs/upstream.md)",
                          name));
  }
}

TEST(Bindings, a_reranker_of_one_routing_is_its_own) {
  const std::string file = std::string(kTwoModels) + R"(global:
  model_catalog: {deployments: {r: {provider: candle, artifact: models/r}}}
recipes:
  - name: one
    routing:
      model_bindings: {rag.reranker: {deployment: r, contract: relevance_scores.v1}}
      decisions: [{name: d, modelRefs: [{model: small}]}]
  - {name: two, routing: {decisions: [{name: e, modelRefs: [{model: small}]}]}}
)";
  const Config config = newer_config(file);
  EXPECT_EQ(config.system_models.reranker, "");
  EXPECT_EQ(reranker_of(config, config.recipes.at(0).routing), "models/r");
  EXPECT_EQ(reranker_of(config, config.recipes.at(1).routing), "");
}

TEST(Bindings, a_plugin_that_ranks_again_without_a_model_has_a_notice) {
  const auto notices_with = [](std::string_view more) {
    return newer_notices(with_rules(
        "{operator: AND}",
        fmt::format(", plugins: [{{type: rag, configuration: {{backend: external_api, rerank: "
                    "{{top_k: 1}}{}, backend_config: {{endpoint: \"http://a\", request_format: "
                    "elasticsearch}}}}}}]",
                    more)));
  };
  EXPECT_EQ(notices_with(""),
            "f.yaml:8: rerank of rag: no binding names the model of rag.reranker: documents are in "
            "the order of their search (docs/upstream.md)");
  EXPECT_NE(notices_with(", on_failure: block").find("are refused"), std::string::npos);
}

TEST(Bindings, a_server_of_the_model_runtime_may_stay_unused) {
  const auto with_binding = [](std::string_view bindings) {
    return fmt::format(R"({}global:
  model_catalog:
    deployments: {{attached: {{provider: model_runtime, endpoint: "http://runtime:8100"}}}}
    bindings: {{{}}}
)",
                       kTwoModels, bindings);
  };
  EXPECT_EQ(newer_errors(with_binding("")), "accepted");
  EXPECT_EQ(newer_errors(with_binding(
                "prompt_guard: {deployment: attached, contract: label_distribution.v1}")),
            "f.yaml:10: global.model_catalog.bindings.prompt_guard: a server of the provider "
            "model_runtime is not built; expected an artifact, or the provider http");
}

TEST(Bindings, independent_labels_have_an_operating_point) {
  const auto file = [](std::string_view binding) {
    return fmt::format(R"({}routing:
  signals: {{classifiers: [{{name: risk, type: local, labels: [a, b]}}]}}
  model_bindings: {{classifier.risk: {{deployment: d, {}}}}}
global:
  model_catalog: {{deployments: {{d: {{provider: candle, artifact: models/risk}}}}}}
)",
                       kTwoModels, binding);
  };
  const ClassifierSignal signal =
      newer_config(file("contract: label_scores.v1")).routing.classifiers.at(0);
  ASSERT_TRUE(signal.operating_point);
  EXPECT_EQ(signal.operating_point->path, "operating_point.json");
  EXPECT_EQ(newer_errors(file("contract: label_distribution.v1, operating_point: {path: p}")),
            "f.yaml:9: routing.model_bindings.classifier.risk: operating_point: expected the "
            "contract label_scores.v1, found \"label_distribution.v1\"");
  EXPECT_EQ(newer_errors(file("contract: score.v1")),
            "f.yaml:9: routing.model_bindings.classifier.risk: expected the contract "
            "label_distribution.v1 or label_scores.v1, found \"score.v1\"");
}

TEST(EarlyParts, groups_of_signals_become_partitions) {
  const std::string file = std::string(kTwoModels) + R"(routing:
  signals:
    keywords: [{name: a, keywords: [x]}, {name: b, keywords: [y]}]
    signal_groups: [{name: g, semantics: exclusive, members: [a, b], default: a}]
)";
  const Config config = newer_config(file);
  ASSERT_EQ(config.routing.projections.partitions.size(), 1U);
  EXPECT_EQ(config.routing.projections.partitions.at(0).name, "g");
  EXPECT_NE(newer_errors(file + "  projections: {partitions: []}\n").find("signal_groups"),
            std::string::npos);
}

TEST(EarlyParts, a_price_has_one_name_and_is_a_number) {
  const auto errors = [](std::string_view pricing) {
    return newer_errors(fmt::format(
        "version: v0.3\nproviders:\n  models: [{{name: m, backend_refs: [{{type: echo}}], pricing: "
        "{{{}}}}}]\n",
        pricing));
  };
  EXPECT_EQ(errors("output_cost_per_million_tokens: x"),
            "f.yaml:3: providers.models[0].pricing.output_cost_per_million_tokens: expected a "
            "number that is not negative, found \"x\"");
  EXPECT_NE(errors("prompt_per_1m: 1, input_cost_per_million_tokens: '2'").find("are the same"),
            std::string::npos);
}

TEST(EarlyParts, prices_have_other_names) {
  const Config config = newer_config(R"(version: v0.3
providers:
  models:
    - name: m
      backend_refs: [{type: echo}]
      pricing: {input_cost_per_million_tokens: '2', output_cost_per_million_tokens: '12', cache_read_cost_per_million_tokens: '0.5', cache_write_cost_per_million_tokens: '3'}
)");
  const Pricing& pricing = config.providers.models.at(0).pricing.value();
  EXPECT_EQ(pricing.prompt_per_1m, 2);
  EXPECT_EQ(pricing.completion_per_1m, 12);
  EXPECT_EQ(pricing.cached_input_per_1m, 0.5);
  EXPECT_EQ(pricing.cache_write_per_1m, 3);
}

TEST(EarlyParts, plugins_that_refused_become_signals_and_decisions) {
  const std::string file = std::string(kTwoModels) + R"(routing:
  signals: {keywords: [{name: k, keywords: [x]}]}
  decisions:
    - name: d
      priority: 100
      rules: {type: keyword, name: k}
      modelRefs: [{model: small}]
      plugins:
        - {type: pii, configuration: {enabled: true, threshold: 0.8, pii_types_allowed: [PERSON]}}
        - {type: jailbreak, configuration: {enabled: false}}
recipes:
  - name: r
    routing: {decisions: [{name: e, modelRefs: [{model: small}], plugins: [{type: jailbreak}]}]}
)";
  const Config config = newer_config(file);
  ASSERT_EQ(config.routing.decisions.size(), 2u);
  EXPECT_EQ(config.routing.pii.at(0).pii_types_allowed, std::vector<std::string>{"PERSON"});
  EXPECT_TRUE(config.routing.jailbreak.empty()) << "the file switches it off";
  const Decision& refusal = config.routing.decisions[1];
  EXPECT_TRUE(binds_named_models(refusal));
  EXPECT_EQ(refusal.tier, 0);
  EXPECT_EQ(config.routing.decisions[0].tier, 1);
  EXPECT_EQ(refusal.rules.conditions.size(), 2u) << "it is for the requests of the decision";
  const Routing& recipe = config.recipes.at(0).routing;
  ASSERT_EQ(recipe.decisions.size(), 2u);
  EXPECT_TRUE(binds_named_models(recipe.decisions[1]));
  EXPECT_NE(
      newer_notices(file).find("the plugins jailbreak and pii are of older files; each becomes "
                               "a signal, and a decision that refuses what the signal finds"),
      std::string::npos);
}

// A decision with a plugin of an early file, on line 8.
std::string with_plugin(std::string_view plugin, std::string_view keys = "",
                        std::string_view routing = "") {
  return fmt::format(
      "{}routing:\n  decisions: [{{name: d, modelRefs: [{{model: small}}], plugins: [{}]{}}}]\n{}",
      kTwoModels, plugin, keys, routing);
}

TEST(EarlyParts, no_decision_ranks_above_a_plugin_that_refused) {
  for (const auto& [keys, routing, tier] :
       {std::tuple{", priority: 2147483647", "", 1},
        {", tier: 1", "", 2},
        {", tier: 5", "", 6},
        {", rules: {operator: OR, conditions: [{type: domain, name: law}]}",
         "  strategy: confidence\n", 1},
        {", tier:", "", 1}}) {
    const std::string file = with_plugin("{type: pii}", keys, routing);
    const Config config = newer_config(file);
    ASSERT_EQ(config.routing.decisions.size(), 2u);
    EXPECT_EQ(config.routing.decisions[0].tier, tier);
    EXPECT_EQ(config.routing.decisions[1].tier, 0);
    EXPECT_EQ(newer_notices(file),
              "f.yaml:1: the plugins jailbreak and pii are of older files; each becomes a signal, "
              "and a decision that refuses what the signal finds");
  }
  EXPECT_NE(newer_errors(with_plugin("{type: pii}", ", tier: 2147483647"))
                .find("f.yaml:8: routing.decisions[0].tier: expected an integer from 0 to "
                      "2147483646, found \"2147483647\""),
            std::string::npos);
}

TEST(EarlyParts, no_setting_of_such_a_plugin_disappears) {
  const std::string all =
      with_plugin("{type: pii, configuration: {include_history: true, treshold: 0.2, name: n}}");
  EXPECT_TRUE(newer_config(all).routing.pii.at(0).include_history);
  EXPECT_EQ(newer_notices(all).substr(newer_notices(all).find('\n') + 1),
            "f.yaml:8: routing.decisions[0].plugins[0]: unknown key \"name\" (known: enabled, "
            "threshold, include_history)\n"
            "f.yaml:8: routing.signals.pii[0]: unknown key \"treshold\"; did you mean "
            "\"threshold\"?");
  EXPECT_NE(newer_notices(with_plugin("{type: jailbreak, enabled: false}"))
                .find("f.yaml:8: routing.decisions[0].plugins[0]: unknown key \"enabled\""),
            std::string::npos);
  EXPECT_EQ(newer_errors(with_plugin("{type: jailbreak, configuration: {enabled: 1}}")),
            "f.yaml:8: routing.decisions[0].plugins[0].configuration.enabled: expected true or "
            "false, found \"1\"");
  EXPECT_EQ(newer_errors(with_plugin("{type: jailbreak, configuration: [1]}")),
            "f.yaml:8: routing.decisions[0].plugins[0].configuration: expected a mapping, found a "
            "list");
  EXPECT_EQ(newer_errors(fmt::format("{}recipes: [{{name: r, routing: {{decisions: [{{name: d, "
                                     "plugins: [{{type: pii, configuration: {{enabled: no way}}}}]"
                                     "}}]}}}}]\n",
                                     kTwoModels)),
            "f.yaml:7: recipes[0].routing.decisions[0].plugins[0].configuration.enabled: expected "
            "true or false, found \"no way\"");
}

TEST(EarlyParts, a_family_of_card_and_model_must_be_the_same) {
  const auto with = [](std::string_view model, std::string_view card) {
    return fmt::format(R"(version: v0.3
providers:
  models: [{{name: m, {}, backend_refs: [{{type: echo}}]}}]
  defaults: {{reasoning_families: {{q: {{type: chat_template_kwargs, parameter: p}}}}}}
routing:
  modelCards: [{{name: m, reasoning_family_ref: {}}}]
)",
                       model, card);
  };
  for (const std::string_view model : {"reasoning_family: q", "reasoning: {family: q}",
                                       "reasoning_family: null", "reasoning: {enabled: true}"}) {
    EXPECT_EQ(newer_config(with(model, "q")).providers.find("m")->reasoning_family, "q") << model;
  }
  for (const std::string_view model : {"reasoning_family: q", "reasoning: {family: q}",
                                       "reasoning: {type: chat_template_kwargs, parameter: p}"}) {
    EXPECT_EQ(newer_errors(with(model, "qwen3")),
              "f.yaml:6: routing.modelCards[0].reasoning_family_ref: \"qwen3\" contradicts the "
              "reasoning of the model in providers.models")
        << model;
  }
}

TEST(EarlyParts, a_card_names_the_reasoning_family_of_its_model) {
  const Config config = newer_config(std::string(kTwoModels) + R"(routing:
  modelCards: [{name: small, reasoning_family_ref: qwen3}]
  decisions: [{name: d, modelRefs: [{model: small, use_reasoning: true}]}]
)");
  EXPECT_EQ(config.providers.find("small")->reasoning_family, "qwen3");
}

TEST(Backends, a_key_of_the_client_takes_the_place_of_the_backends) {
  const Config config = newer_config(R"(version: v0.3
providers:
  models: [{name: m, backend_refs: [{endpoint: "127.0.0.1:1", api_key: k, forward_authorization_header: true}]}]
)");
  EXPECT_EQ(config.providers.models.at(0).backend_refs.at(0).api_key, "");
}

TEST(Backends, a_key_of_the_router_is_no_key_to_forward) {
  EXPECT_EQ(newer_errors(R"(version: v0.3
providers:
  models:
    - name: m
      backend_refs: [{endpoint: "127.0.0.1:1", api_key: k, forward_authorization_header: true}]
global: {access: {keys_file: keys.json}}
)"),
            "f.yaml:5: providers.models[0].backend_refs[0].forward_authorization_header: the "
            "server would get no key, because the clients' keys and tokens are those of "
            "global.access; expected api_key_env or api_key without this key");
}

TEST(Tiers, a_decision_without_conditions_gets_a_notice_if_it_hides_others) {
  const auto notices = [](std::string_view a, std::string_view b) {
    return newer_notices(fmt::format(
        "{}routing:\n  signals: {{keywords: [{{name: k, keywords: [x]}}]}}\n  decisions:\n"
        "    - {{name: a, {}modelRefs: [{{model: small}}]}}\n"
        "    - {{name: b, {}rules: {{type: keyword, name: k}}, modelRefs: [{{model: small}}]}}\n",
        kTwoModels, a, b));
  };
  EXPECT_EQ(notices("tier: 2, ", "tier: 1, "), "");
  EXPECT_EQ(notices("tier: 2, ", ""), "");
  EXPECT_EQ(
      notices("", "tier: 1, "),
      "f.yaml:10: routing.decisions[0]: \"b\" never wins requests that let the router choose, "
      "because this decision has no conditions and a lower tier");
  EXPECT_NE(notices("", "tier: 1, action: {type: route, destination: small}, ").find("\"b\" never"),
            std::string::npos)
      << "an action wins only requests with a model's name";
  EXPECT_EQ(notices("priority: 3, ", "priority: 3, "), "");
  EXPECT_EQ(
      notices("priority: 4, ", "priority: 3, "),
      "f.yaml:10: routing.decisions[0]: without conditions it ranks below the other decisions "
      "of its tier, in spite of its priority");
}

TEST(Tiers, no_decision_may_have_a_lower_one_than_a_guard) {
  const auto notices = [](std::string_view guard, std::string_view other) {
    return newer_notices(fmt::format(R"({}routing:
  signals: {{jailbreak: [{{name: j}}], keywords: [{{name: k, keywords: [x]}}]}}
  decisions:
    - {{name: g, {}, rules: {{type: jailbreak, name: j}}, action: {{type: route, destination: large}}}}
    - {{name: d, {}, rules: {{type: keyword, name: k}}, modelRefs: [{{model: small}}]}}
)",
                                     kTwoModels, guard, other));
  };
  EXPECT_EQ(notices("priority: 9", "tier: 1"), "");
  EXPECT_EQ(notices("tier: 1", "tier: 2"), "");
  EXPECT_EQ(notices("tier: 1", "priority: 5"),
            "f.yaml:10: routing.decisions[0]: the guard \"g\" does not route a request that also "
            "matches \"d\", because that decision can rank above it; give every other decision a "
            "higher tier than the guard's");
}

TEST(Safety, parts_that_would_change_an_answer_are_errors) {
  const auto read = [](std::string_view keys, std::string_view decisions) {
    return newer_errors(
        fmt::format("{}routing: {{signals: {{safety: [{{name: s, {}}}]}}, decisions: [{}]}}\n",
                    kTwoModels, keys, decisions));
  };
  const auto with = [&](std::string_view keys) {
    EXPECT_EQ(read(keys, ""), "accepted") << "no condition reads it";
    return read(keys, "{name: d, rules: {type: safety, name: s}, modelRefs: [{model: small}]}");
  };
  EXPECT_EQ(with("threshold: 0.5"), "accepted");
  EXPECT_EQ(with("unsafe_labels: [unsafe]"), "accepted");
  EXPECT_EQ(with("model: remote"),
            "f.yaml:7: routing.decisions[0].rules.name: the safety signal \"s\" cannot be "
            "evaluated: a server for safety signals is not built; "
            "global.model_catalog.system.safety names the directory of their model");
  EXPECT_EQ(
      with("unsafe_labels: [unsafe, controversial]"),
      "f.yaml:7: routing.decisions[0].rules.name: the safety signal \"s\" cannot be evaluated: "
      "its unsafe_labels are not [unsafe], and no other class counts here");
}

// --- rules of entrypoints ---

std::string with_entrypoint(std::string_view entrypoint) {
  return fmt::format(
      "{}routing: {{decisions: [{{name: d, modelRefs: [{{model: small}}]}}]}}\n"
      "recipes: [{{name: premium}}, {{name: batch}}]\n"
      "entrypoints:\n  - model_names: [team]\n{}",
      kTwoModels, entrypoint);
}

HeaderLookup request(std::string_view path,
                     std::vector<std::pair<std::string_view, std::string_view>> headers = {}) {
  headers.emplace_back(":path", path);
  return [headers](std::string_view name) -> std::optional<std::string_view> {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return std::nullopt;
  };
}

TEST(EntrypointRules, the_narrowest_rule_holds_whatever_their_order) {
  const std::vector<std::string> rules{
      "{name: rest, recipe: default}",
      "{name: tenant, recipe: batch, matches: [{headers: [{name: x-tenant, value: A}]}]}",
      "{name: user, recipe: premium, matches: [{path: {type: path_prefix, value: /v1}, headers: "
      "[{name: x-tenant, value: A}, {name: x-user, type: exact, value: B}]}]}"};
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}) {
    std::string text = "    rules:\n";
    for (const size_t i : order) text += "      - " + rules[i] + "\n";
    const Config config = newer_config(with_entrypoint(text));
    const Entrypoint& entrypoint = config.entrypoints.at(0);
    const auto recipe = [&](const HeaderLookup& header) { return recipe_of(entrypoint, header); };
    EXPECT_EQ(recipe(request("/v1/chat/completions")), "default");
    EXPECT_EQ(recipe(request("/v1/responses", {{"x-tenant", "A"}})), "batch");
    EXPECT_EQ(recipe(request("/v1/responses", {{"x-tenant", "a"}})), "default") << "exact";
    EXPECT_EQ(recipe(request("/v1/responses", {{"x-tenant", "A"}, {"x-user", "B"}})), "premium");
    EXPECT_EQ(recipe(request("/v10/responses", {{"x-tenant", "A"}, {"x-user", "B"}})), "batch")
        << "a prefix ends with a segment";
    EXPECT_EQ(recipe({}), "default");
  }
}

TEST(EntrypointRules, a_request_that_matches_none_has_no_recipe) {
  const Config config = newer_config(with_entrypoint(R"(    rules:
      - {name: chat, recipe: premium, matches: [{path: {type: exact, value: /v1/chat/completions/}}, {headers: [{name: x-a, value: ''}]}]}
)"));
  const Entrypoint& entrypoint = config.entrypoints.at(0);
  EXPECT_EQ(recipe_of(entrypoint, request("/v1/chat/completions")), "premium");
  EXPECT_EQ(recipe_of(entrypoint, {}), "premium") << "without a path it is one for chat";
  EXPECT_EQ(recipe_of(entrypoint, request("/v1/chat/completions/x")), "");
  EXPECT_EQ(recipe_of(entrypoint, request("/v1/messages")), "");
  EXPECT_EQ(recipe_of(entrypoint, request("/v1/messages", {{"x-a", ""}})), "premium");
  EXPECT_TRUE(is_open_to(entrypoint, request("/v1/models"))) << "the path of the list is another";
}

TEST(EntrypointRules, rules_that_may_meet_are_errors) {
  const auto errors_of = [](std::string_view a, std::string_view b) {
    return newer_errors(with_entrypoint(fmt::format(
        "    rules:\n      - {{name: a, recipe: premium, matches: [{}]}}\n      - {{name: b, "
        "recipe: batch, matches: [{}]}}\n",
        a, b)));
  };
  const std::string ambiguous =
      "f.yaml:13: entrypoints[0].rules[1]: a request may match \"b\" as well as \"a\", and neither "
      "is narrower than the other";
  constexpr std::string_view kTenant = "{headers: [{name: x-tenant, value: A}]}";
  EXPECT_EQ(errors_of(kTenant, "{headers: [{name: x-plan, value: gold}]}"), ambiguous);
  EXPECT_EQ(errors_of("", ""), ambiguous);
  EXPECT_EQ(errors_of(kTenant, kTenant), ambiguous);
  EXPECT_EQ(errors_of("{path: {type: path_prefix, value: /v1}}", kTenant), ambiguous);
  EXPECT_EQ(errors_of(kTenant, "{headers: [{name: X-Tenant, value: B}]}"), "accepted");
  EXPECT_EQ(errors_of("{path: {value: /v1/messages}}", "{path: {value: /v1/responses}}"),
            "accepted");
  EXPECT_EQ(errors_of("{path: {type: path_prefix, value: /v1}}",
                      "{path: {type: exact, value: /v1/responses}}"),
            "accepted");
  EXPECT_EQ(errors_of("{path: {type: path_prefix, value: /v1}}", "{path: {value: /v1}}"),
            "accepted");
}

TEST(EntrypointRules, mistakes_are_errors) {
  const auto errors_of = [](std::string_view keys) {
    return newer_errors(with_entrypoint(fmt::format("    {}\n", keys)));
  };
  EXPECT_EQ(errors_of("rules: [{name: r, recipe: premum}]"),
            "f.yaml:11: entrypoints[0].rules[0].recipe: unknown recipe \"premum\"; did you mean "
            "\"premium\"?");
  EXPECT_EQ(errors_of("rules: [{name: r, recipe: premium}]\n    recipe: batch"),
            "f.yaml:10: entrypoints[0].recipe: expected either recipe or rules, found both");
  EXPECT_EQ(
      errors_of("rules: [{name: r, recipe: premium}]\n    assignments: {d: {models: [{model: "
                "small}]}}"),
      "f.yaml:12: entrypoints[0].assignments: expected recipe beside it, which has the decisions; "
      "rules have no assignments");
  for (const std::string_view none : {"null", "''", "\"\""}) {
    EXPECT_EQ(errors_of(fmt::format("rules: [{{name: r, recipe: premium}}]\n    recipe: {}", none)),
              "accepted");
  }
  EXPECT_EQ(errors_of("rules: []"),
            "f.yaml:10: entrypoints[0].recipe: missing; expected a string, or rules instead");
  EXPECT_EQ(errors_of("rules: [{recipe: premium}]"),
            "f.yaml:11: entrypoints[0].rules[0].name: missing; expected a string");
  EXPECT_EQ(errors_of("rules: [{name: r, recipe: premium, matches: [{path: {value: v1}}]}]"),
            "f.yaml:11: entrypoints[0].rules[0].matches[0].path.value: expected a path that begins "
            "with \"/\", without query and fragment, found \"v1\"");
  EXPECT_EQ(errors_of("rules: [{name: r, recipe: premium, matches: [{path: {type: regex, value: "
                      "/v1}}]}]"),
            "f.yaml:11: entrypoints[0].rules[0].matches[0].path.type: expected one of exact, "
            "path_prefix, found \"regex\"");
  EXPECT_EQ(errors_of("rules: [{name: r, recipe: premium, matches: [{headers: [{name: x-a, value: "
                      "'1'}, {name: X-A, value: '2'}]}]}]"),
            "f.yaml:11: entrypoints[0].rules[0].matches[0].headers[1]: the header \"X-A\" is "
            "required twice");
}

}  // namespace
}  // namespace signalbox::config
