// Tests that files of the Semantic Router that are newer than our tables mean the same here, and
// that a part without a meaning here is reported.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/router/config/newer_forms.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

std::string in_decision(std::string_view lines) {
  return fmt::format(
      "{}routing:\n  decisions:\n    - name: x\n      modelRefs: [{{model: small}}, "
      "{{model: large}}]\n{}",
      kTwoModels, lines);
}

// --- providers ---

TEST(NewerForms, the_default_model_and_effort_have_shorter_names) {
  const Config config = newer_config(R"(version: v0.3
providers:
  defaults: {model: b, reasoning_effort: low}
  models: [{name: a, backend_refs: [{type: echo}]}, {name: b, backend_refs: [{type: echo}]}]
)");
  EXPECT_EQ(config.providers.default_model, "b");
  EXPECT_EQ(config.providers.default_reasoning_effort, "low");
}

TEST(NewerForms, an_unknown_default_is_reported_under_the_key_that_the_file_has) {
  EXPECT_EQ(newer_errors(R"(version: v0.3
providers:
  defaults: {model: c}
  models: [{name: a, backend_refs: [{type: echo}]}]
)"),
            "f.yaml:3: providers.defaults.model: unknown model \"c\" (known: a)");
}

TEST(NewerForms, a_single_model_is_the_default) {
  EXPECT_EQ(newer_config(
                "version: v0.3\nproviders: {models: [{name: a, backend_refs: [{type: echo}]}]}\n")
                .providers.default_model,
            "a");
}

TEST(NewerForms, an_endpoint_may_be_a_url_or_have_a_path) {
  const Config config = newer_config(R"(version: v0.3
providers:
  models:
    - name: a
      backend_refs:
        - {endpoint: "http://h:8000/v1"}
        - {endpoint: "https://h/v1", protocol: http}
        - {endpoint: "h:8000/v1"}
        - {endpoint: "h:8443/openai/v1", protocol: https}
)");
  const auto& refs = config.providers.models[0].backend_refs;
  const auto written = [&](size_t i) {
    return fmt::format("{} {} {} {}", refs[i].tls, refs[i].host, refs[i].port, refs[i].path_prefix);
  };
  EXPECT_EQ(written(0), "false h 8000 ");
  EXPECT_EQ(written(1), "true h 443 ");
  EXPECT_EQ(written(2), "false h 8000 ");
  EXPECT_EQ(written(3), "true h 8443 /openai");
}

TEST(NewerForms, reasoning_names_a_family_or_describes_one) {
  const Config config = newer_config(R"(version: v0.3
providers:
  defaults: {model: a}
  models:
    - {name: a, reasoning: {family: qwen3}, backend_refs: [{type: echo}]}
    - {name: b, reasoning: {type: reasoning_effort, parameter: effort}, backend_refs: [{type: echo}]}
)");
  const auto& families = config.providers.reasoning_families;
  const auto& models = config.providers.models;
  const ReasoningFamily& known = families.at(models[0].reasoning_family);
  EXPECT_EQ(known.type, ReasoningFamily::Type::kChatTemplateKwargs);
  EXPECT_EQ(known.parameter, "enable_thinking");
  const ReasoningFamily& own = families.at(models[1].reasoning_family);
  EXPECT_EQ(own.type, ReasoningFamily::Type::kReasoningEffort);
  EXPECT_EQ(own.parameter, "effort");
}

TEST(NewerForms, a_family_of_the_file_precedes_a_known_one_of_its_name) {
  const Config config = newer_config(R"(version: v0.3
providers:
  defaults: {reasoning_families: {qwen3: {type: reasoning_effort, parameter: mine}}}
  models: [{name: a, reasoning_family: qwen3, backend_refs: [{type: echo}]}]
)");
  EXPECT_EQ(config.providers.reasoning_families.at("qwen3").parameter, "mine");
}

TEST(NewerForms, a_key_of_reasoning_without_a_value_counts_as_missing) {
  const Config config = newer_config(R"(version: v0.3
providers:
  defaults: {model: a}
  models:
    - {name: a, reasoning_family: , reasoning: {family: qwen3, type: }, backend_refs: [{type: echo}]}
)");
  EXPECT_EQ(config.providers.models[0].reasoning_family, "qwen3");
}

TEST(NewerForms, a_mistaken_reasoning_is_refused) {
  EXPECT_EQ(newer_errors(R"(version: v0.3
providers:
  defaults: {model: a}
  models:
    - {name: a, reasoning: {family: qwen4}, backend_refs: [{type: echo}]}
    - {name: b, reasoning: {type: reasoning_effort}, backend_refs: [{type: echo}]}
    - {name: c, reasoning: {family: gpt, type: reasoning_effort, parameter: p}, backend_refs: [{type: echo}]}
    - {name: d, reasoning: {parameter: p}, backend_refs: [{type: echo}]}
    - {name: e, reasoning_family: gpt, reasoning: {family: qwen3}, backend_refs: [{type: echo}]}
)"),
            "f.yaml:5: providers.models[0].reasoning.family: unknown family \"qwen4\" (known: "
            "deepseek, gpt, gpt-oss, qwen3)\n"
            "f.yaml:6: providers.models[1].reasoning: expected either family, or type and "
            "parameter\n"
            "f.yaml:7: providers.models[2].reasoning: expected either family, or type and "
            "parameter\n"
            "f.yaml:8: providers.models[3].reasoning: expected either family, or type and "
            "parameter\n"
            "f.yaml:9: providers.models[4]: \"reasoning_family\" and \"reasoning.family\" are the "
            "same; expected one of them");
}

// --- the file ---

TEST(NewerForms, a_file_without_a_version_is_read_with_a_notice) {
  EXPECT_EQ(newer_notices("providers: {models: [{name: a, backend_refs: [{type: echo}]}]}\n"),
            "f.yaml:1: version: missing; the file is read as v0.3");
}

TEST(NewerForms, names_the_resource_around_a_configuration) {
  EXPECT_EQ(newer_errors("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"),
            "f.yaml:1: the file is a resource of Kubernetes; expected the configuration alone, "
            "which a ConfigMap has as a text under data");
  EXPECT_EQ(newer_errors("replicaCount: 1\nconfig: {version: v0.3, providers: {}}\n"),
            "f.yaml:1: the file has values for Helm; expected the part under config alone, which "
            "`signalbox config migrate` prints");
}

// --- assignments ---

constexpr std::string_view kAssigned = R"(version: v0.3
providers:
  models:
    - {name: small, backend_refs: [{type: echo}]}
    - {name: large, reasoning: {family: qwen3}, backend_refs: [{type: echo}]}
recipes:
  - name: default
    routing:
      signals: {keywords: [{name: hard, keywords: [prove]}]}
      decisions:
        - {name: hard, priority: 2, rules: {operator: AND, conditions: [{type: keyword, name: hard}]}}
        - {name: rest, rules: {operator: AND}}
entrypoints:
  - model_names: [auto]
    recipe: default
    assignments:
)";

TEST(NewerForms, assigned_models_become_those_of_the_decisions) {
  const Config config = newer_config(std::string(kAssigned) + R"(
      hard: {models: [{model: large, weight: '3', reasoning: {enabled: true, effort: high}}, {model: small, weight: '1'}]}
      rest: {models: [{model: small}]}
)");
  const auto& decisions = config.recipes.at(0).routing.decisions;
  ASSERT_EQ(decisions[0].model_refs.size(), 2u);
  EXPECT_EQ(decisions[0].model_refs[0].model, "large");
  EXPECT_EQ(decisions[0].model_refs[0].weight, 3);
  EXPECT_EQ(decisions[0].model_refs[0].use_reasoning, true);
  EXPECT_EQ(decisions[0].model_refs[0].reasoning_effort, "high");
  EXPECT_EQ(decisions[1].model_refs.at(0).model, "small");
  EXPECT_EQ(config.providers.default_model, "small") << "that of the decision without conditions";
}

TEST(NewerForms, an_assignment_that_cannot_be_kept_is_refused) {
  EXPECT_EQ(newer_errors(std::string(kAssigned) + R"(      rset: {models: [{model: small}]}
      hard: {models: [{model: lagre}]}
      rest: {model: small}
  - model_names: [other]
    recipe: default
    assignments: {hard: {models: [{model: small}]}}
)"),
            "f.yaml:3: providers.defaults.default_model: missing; expected the model of requests "
            "that no decision matches (known: small, large)\n"
            "f.yaml:17: entrypoints[0].assignments.rset: the recipe has no decision of this name\n"
            "f.yaml:18: recipes[0].routing.decisions[0].modelRefs[0].model: unknown model "
            "\"lagre\"; did you mean \"large\"?\n"
            "f.yaml:19: entrypoints[0].assignments.rest: expected models, a list of mappings\n"
            "f.yaml:22: entrypoints[1].assignments.hard: the decision has models already; expected "
            "one place for them, and a recipe of its own for each entrypoint that assigns models");
}

// --- decisions, signals and plugins ---

TEST(NewerForms, a_guard_of_replies_does_not_become_one_of_requests) {
  const std::string signals = std::string(kTwoModels) + R"(routing:
  signals:
    jailbreak: [{name: attack}, {name: reply, direction: response, threshold: 0.9}]
)";
  const Config config = newer_config(signals);
  ASSERT_EQ(config.routing.jailbreak.size(), 1u);
  EXPECT_EQ(config.routing.jailbreak[0].name, "attack");
  EXPECT_EQ(newer_notices(signals),
            "f.yaml:9: routing.signals.jailbreak[1]: has no effect: the plugin response_jailbreak "
            "examines replies with its own threshold, and no condition can read the signal "
            "(docs/upstream.md)");
  EXPECT_EQ(
      newer_errors(signals + "  decisions: [{name: x, rules: {type: jailbreak, name: reply}}]\n"),
      "f.yaml:10: routing.decisions[0].rules.name: unknown jailbreak signal \"reply\" (known: "
      "attack)");
}

TEST(NewerForms, masking_is_pii_mask) {
  const Config config = newer_config(in_decision(R"(      plugins:
        - {type: masking, configuration: {threshold: 0.8, entity_types: [EMAIL_ADDRESS]}}
)"));
  const auto& mask = config.routing.decisions[0].pii_mask;
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask->threshold, 0.8);
  EXPECT_EQ(mask->types, std::vector<std::string>{"EMAIL_ADDRESS"});
}

TEST(NewerForms, a_shadow_may_have_one_model_and_no_arms) {
  const Config config = newer_config(in_decision(R"(      plugins:
        - type: shadow_dispatch
          configuration: {model: large, timeout_seconds: 7, max_concurrency: 2, max_response_bytes: 4096}
)"));
  const auto& shadow = config.routing.decisions[0].shadow_dispatch;
  ASSERT_TRUE(shadow);
  ASSERT_EQ(shadow->arms.size(), 1u);
  EXPECT_EQ(shadow->arms[0].model, "large");
  EXPECT_EQ(shadow->arms[0].name, "large");
  EXPECT_EQ(shadow->arms[0].timeout, 7s);
  EXPECT_EQ(shadow->limits.max_concurrent_shadow, 2u);
  EXPECT_EQ(shadow->limits.max_response_bytes, 4096u);
  EXPECT_EQ(shadow->sample_rate, 1) << "the default of the Semantic Router";
}

TEST(NewerForms, a_shadow_with_two_forms_or_none_is_refused) {
  const std::string at = ": routing.decisions[0].plugins[0].configuration";
  EXPECT_EQ(
      newer_errors(in_decision("      plugins: [{type: shadow_dispatch, configuration: {model: "
                               "large, arms: [{model: small}]}}]\n")),
      "f.yaml:11" + at + ": expected arms or model, found both");
  EXPECT_EQ(newer_errors(in_decision(
                "      plugins: [{type: shadow_dispatch, configuration: {model: lagre}}]\n")),
            "f.yaml:11" + at + ".model: unknown model \"lagre\"; did you mean \"large\"?");
  EXPECT_EQ(newer_errors(in_decision(
                "      plugins: [{type: shadow_dispatch, configuration: {arms: [{model: large}], "
                "timeout_seconds: 3}}]\n")),
            "f.yaml:11" + at +
                ".timeout_seconds: it belongs to model; each of arms has a timeout of its own");
  EXPECT_EQ(newer_errors(
                in_decision("      plugins: [{type: shadow_dispatch, configuration: {model: large, "
                            "max_concurrency: 3, limits: {max_concurrent_shadow: 2}}}]\n")),
            "f.yaml:11" + at +
                ": \"max_concurrency\" and \"limits.max_concurrent_shadow\" are the same; "
                "expected one of them");
}

TEST(NewerForms, keys_of_a_shadow_without_a_value_count_as_missing) {
  const std::string at = ": routing.decisions[0].plugins[0].configuration";
  const std::string shadow = "      plugins: [{type: shadow_dispatch, configuration: {";
  EXPECT_EQ(newer_errors(in_decision(shadow + "model: }}]\n")),
            "f.yaml:11" + at + ".arms: missing; expected a list of mappings");
  const Config one =
      newer_config(in_decision(shadow + "model: large, sample_rate: , max_concurrency: , "
                                        "limits: {max_concurrent_shadow: 2}}}]\n"));
  ASSERT_TRUE(one.routing.decisions[0].shadow_dispatch);
  EXPECT_EQ(one.routing.decisions[0].shadow_dispatch->sample_rate, 1);
  EXPECT_EQ(one.routing.decisions[0].shadow_dispatch->limits.max_concurrent_shadow, 2u);
  const Config several =
      newer_config(in_decision(shadow + "arms: [{model: large}], timeout_seconds: }}]\n"));
  ASSERT_TRUE(several.routing.decisions[0].shadow_dispatch);
  EXPECT_EQ(several.routing.decisions[0].shadow_dispatch->arms.size(), 1u);
}

TEST(NewerForms, the_schema_has_the_bounds_of_a_shadows_timeout) {
  EXPECT_NE(schema().find(R"("timeout_seconds":{"anyOf":[{"type":["integer","null"],"minimum":1,)"
                          R"("maximum":3600},{"$ref":"#/$defs/variable"}],"description":"Time )"
                          R"(limit of `model`,)"),
            std::string::npos);
}

TEST(NewerForms, trained_selectors_may_be_inside_ml) {
  const Config config = newer_config(in_decision(
      "      algorithm: {type: mlp, ml: {mlp: {pretrained_path: m.json}, embedding_dim: 9}}\n"));
  EXPECT_EQ(config.routing.decisions[0].algorithm.mlp->pretrained_path, "m.json");
}

TEST(NewerForms, a_model_may_be_drawn_at_random) {
  const Config config =
      newer_config(in_decision("      algorithm: {type: random, minimum_candidates: 2}\n"));
  EXPECT_EQ(config.routing.decisions[0].algorithm.type, "random");
}

TEST(NewerForms, a_decision_has_the_models_that_its_algorithm_needs) {
  const std::string found =
      newer_errors(in_decision("      algorithm: {type: random, minimum_candidates: 3}\n"));
  EXPECT_NE(found.find("routing.decisions[0].algorithm.minimum_candidates: expected at least 3 "
                       "different modelRefs, found "),
            std::string::npos)
      << found;
}

TEST(NewerForms, a_models_own_reasoning_has_efforts) {
  const std::string file = R"(version: v0.3
providers:
  defaults: {model: m}
  models:
    - {name: m, reasoning: {type: reasoning_effort, parameter: e, levels: [low, high], default: high, disabled: none,
        activation_parameter: think, effort_flags: {low: low_effort}}, backend_refs: [{type: echo}]}
routing: {decisions: [{name: d, modelRefs: [{model: m, reasoning_effort: medium}]}]}
)";
  EXPECT_NE(
      newer_notices(file).find("\"medium\" is not one of the levels of model \"m\" (low, high)"),
      std::string::npos)
      << newer_notices(file);
  const ReasoningFamily own = newer_config(file).providers.models[0].own_reasoning;
  EXPECT_EQ(own.disabled, "none");
  EXPECT_EQ(own.effort_flags.at("low"), "low_effort");
}

TEST(NewerForms, the_default_model_is_one_for_an_algorithm_that_needs_two) {
  const auto with = [](std::string_view keys) {
    return newer_errors(fmt::format(
        "{}routing: {{decisions: [{{name: d, algorithm: {{type: static, minimum_candidates: 2}}"
        "{}}}]}}\n",
        kTwoModels, keys));
  };
  EXPECT_EQ(with(""),
            "f.yaml:7: routing.decisions[0].algorithm.minimum_candidates: expected at least 2 "
            "different modelRefs, found 0");
  EXPECT_EQ(with(", action: {type: route, destination: small}"), "accepted");
  EXPECT_EQ(with(", plugins: [{type: fast_response, configuration: {message: closed}}]"),
            "accepted");
}

TEST(NewerForms, own_switches_that_the_family_does_not_read_are_reported) {
  const auto with = [](std::string_view reasoning) {
    return newer_notices(
        fmt::format("version: v0.3\nproviders:\n  defaults: {{model: m}}\n"
                    "  models: [{{name: m, reasoning: {{{}}}, backend_refs: "
                    "[{{type: echo}}]}}]\n",
                    reasoning));
  };
  const std::string at = "f.yaml:4: providers.models[0].reasoning";
  EXPECT_EQ(with("family: qwen3, activation_parameter: think, effort_flags: {low: short}"),
            at +
                ".activation_parameter: has no effect: only the type reasoning_effort has further "
                "switches\n" +
                at +
                ".effort_flags: has no effect: only the type reasoning_effort has further "
                "switches");
  EXPECT_EQ(with("type: chat_template_kwargs, parameter: p, disabled: none"),
            at + ".disabled: has no effect: the type chat_template_kwargs has no efforts");
  const std::string flags = "type: reasoning_effort, effort_flags: {low: short, off: quiet}";
  EXPECT_EQ(with(flags + ", disabled: none"),
            at + ".disabled: has no effect: effort_flags has no switch for this effort, except at "
                 "servers that get the effort itself");
  EXPECT_EQ(with(flags + ", disabled: off"), "");
  EXPECT_EQ(with("family: gpt-oss, activation_parameter: think, disabled: none"), "");
  EXPECT_EQ(with("disabled: none"), at + ": has no effect without family, or type and parameter: "
                                         "the client's setting stays");
  EXPECT_EQ(with("type: top_level_reasoning_effort, effort_flags: {low: short}"),
            "refused: " + at + ": expected either family, or type and parameter");
}

TEST(NewerForms, keys_of_a_listener_are_not_left_out) {
  const std::string listener = "listeners: [{name: x, port: 1, api_keys: ";
  EXPECT_EQ(newer_errors(std::string(kTwoModels) + listener + "[secret]}]\n"),
            "f.yaml:7: listeners[0].api_keys: a listener has no keys of its own; "
            "global.access.keys has the keys of clients");
  EXPECT_EQ(newer_errors(std::string(kTwoModels) + listener + "[]}]\n"), "accepted");
}

TEST(NewerForms, an_unknown_plugin_is_an_error_unless_the_file_switches_it_off) {
  const auto with = [](std::string_view type, std::string_view configuration) {
    return in_decision(
        fmt::format("      plugins: [{{type: {}, configuration: {}}}]\n", type, configuration));
  };
  EXPECT_NE(newer_errors(with("zebra", "{}")).find("unknown plugin \"zebra\" (known: "),
            std::string::npos);
  for (const std::string_view off : {"false", "no", "Off"}) {
    const std::string notices = newer_notices(with("zebra", fmt::format("{{enabled: {}}}", off)));
    EXPECT_TRUE(notices.starts_with("f.yaml:")) << notices;
    EXPECT_NE(notices.find("; the file switches it off"), std::string::npos) << notices;
  }
  EXPECT_EQ(newer_errors(with("masknig", "{enabled: false}")),
            "f.yaml:11: routing.decisions[0].plugins[0].type: unknown plugin \"masknig\"; did you "
            "mean \"masking\"?");
}

TEST(NewerForms, a_decision_goes_without_plugins_that_change_no_answer) {
  for (const std::string_view type :
       {"context_dedup", "decision_diagnostics", "provider_prompt_cache"}) {
    const auto with = [&](bool enabled) {
      return in_decision(fmt::format(
          "      plugins: [{{type: {}, configuration: {{enabled: {}}}}}]\n", type, enabled));
    };
    EXPECT_EQ(newer_errors(with(true)), "accepted");
    EXPECT_NE(newer_notices(with(true)).find(fmt::format("\"{}\" has no effect: ", type)),
              std::string::npos);
    EXPECT_EQ(newer_notices(with(false)).find(type), std::string::npos);
  }
}

TEST(NewerForms, empty_settings_of_agentic_facts_are_the_defaults) {
  const auto with = [](std::string_view facts) {
    return fmt::format("{}global: {{router: {{agentic_facts: {}}}}}\n", kTwoModels, facts);
  };
  const auto read = [&](std::string_view facts) {
    return newer_config(with(facts)).router.agentic_facts;
  };
  const AgenticFacts defaults;
  const AgenticFacts empty = read(
      "{carrier_header: '', trust: {marker_header: '  ', marker_value: ''}, bounds: "
      "{max_lifetime: '', clock_skew: ' '}}");
  EXPECT_EQ(empty.carrier_header, defaults.carrier_header);
  EXPECT_EQ(empty.trust.marker_header, defaults.trust.marker_header);
  EXPECT_EQ(empty.trust.marker_value, "1");
  EXPECT_EQ(empty.bounds.max_lifetime, 5min);
  EXPECT_EQ(empty.bounds.clock_skew, 5s);
  const AgenticFacts padded = read(
      "{carrier_header: ' X-A ', trust: {marker_header: ' X-B', marker_value: ' yes '}, "
      "bounds: {max_lifetime: ' 90s ', clock_skew: '0'}}");
  EXPECT_EQ(padded.carrier_header, "X-A");
  EXPECT_EQ(padded.trust.marker_header, "X-B");
  EXPECT_EQ(padded.trust.marker_value, "yes");
  EXPECT_EQ(padded.bounds.max_lifetime, 90s);
  EXPECT_EQ(padded.bounds.clock_skew, 0ms);
  EXPECT_EQ(read("{bounds: {clock_skew: 0}}").bounds.clock_skew, 0ms);
  EXPECT_EQ(newer_errors(with("{bounds: {max_lifetime: '0'}}")),
            "f.yaml:7: global.router.agentic_facts.bounds.max_lifetime: expected a duration from "
            "1ms to 3153600000s such as 300s or 250ms, found the string \"0\"");
  EXPECT_NE(newer_errors(with("{carrier_header: ' X-A ', trust: {marker_header: x-a}}"))
                .find("expected two headers"),
            std::string::npos);
  EXPECT_NE(newer_errors(with("{carrier_header: 'x a'}")).find("expected the name of a header"),
            std::string::npos);
}

}  // namespace
}  // namespace signalbox::config
