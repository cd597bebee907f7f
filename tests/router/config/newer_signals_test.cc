// Tests that rules and signals of the Semantic Router that are newer than our tables mean the same
// here, and that parts without a counterpart are reported.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/router/config/newer_forms.h"

namespace signalbox::config {
namespace {

std::string unknown_rules(std::string_view rules) {
  return fmt::format(
      "{}routing:\n  signals: {{jailbreak: [{{name: a}}, {{name: b}}]}}\n  decisions: [{{name: d, "
      "modelRefs: [{{model: small}}], rules: {}}}]\n",
      kTwoModels, rules);
}

TEST(NewerSignals, the_result_of_unknown_rules_is_that_of_their_conditions) {
  constexpr std::string_view kConditions =
      "conditions: [{type: jailbreak, name: a}, {operator: NOT, conditions: [{type: jailbreak, "
      "name: b}]}, {type: jailbreak, name: b, on_error: no_match}]";
  using OnError = Rule::OnError;
  for (const auto& [word, plain, negated] :
       {std::tuple{"match", OnError::kMatch, OnError::kNoMatch},
        std::tuple{"no_match", OnError::kNoMatch, OnError::kMatch}}) {
    const Config config = newer_config(
        unknown_rules(fmt::format("{{operator: OR, on_unknown: {}, {}}}", word, kConditions)));
    const auto& conditions = config.routing.decisions.at(0).rules.conditions;
    EXPECT_EQ(conditions.at(0).on_error, plain) << word;
    EXPECT_EQ(conditions.at(1).conditions.at(0).on_error, negated) << word;
    EXPECT_EQ(conditions.at(2).on_error, plain) << "in place of its own";
  }
  const std::string at = "f.yaml:9: routing.decisions[0].rules.on_unknown: ";
  const Config config =
      newer_config(unknown_rules("{type: jailbreak, name: a, on_unknown: fail_request}"));
  EXPECT_TRUE(config.routing.decisions.at(0).rules.must_be_known());
  const Config nested = newer_config(
      unknown_rules("{operator: AND, on_unknown: fail_request, conditions: [{operator: OR, "
                    "on_unknown: no_match, conditions: [{type: jailbreak, name: a}]}]}"));
  EXPECT_EQ(nested.routing.decisions.at(0).rules.conditions.at(0).conditions.at(0).on_error,
            OnError::kNoMatch);
  EXPECT_EQ(newer_errors(unknown_rules("{operator: NOT, conditions: [{type: jailbreak, name: a, "
                                       "on_unknown: fail_request}]}")),
            "f.yaml:9: routing.decisions[0].rules.conditions[0].on_unknown: fail_request is for "
            "the whole rules of a decision");
  EXPECT_EQ(newer_errors(unknown_rules("{type: jailbreak, name: a, on_unknown: mtach}")),
            at + "expected match, no_match or fail_request, found \"mtach\"");
}

TEST(NewerSignals, no_composer_reads_a_signal_of_replies) {
  EXPECT_EQ(newer_errors(std::string(kTwoModels) + R"(routing:
  signals:
    jailbreak: [{name: reply, direction: response}]
    complexity: [{name: c, hard: {candidates: [x]}, composer: {type: jailbreak, name: reply}}]
)"),
            "f.yaml:10: routing.signals.complexity[0].composer.name: unknown jailbreak signal "
            "\"reply\" (known: none)");
}

TEST(NewerSignals, a_projection_on_a_signal_that_is_not_there_is_refused) {
  const auto with = [](std::string_view projections) {
    return newer_errors(fmt::format(R"({}routing:
  signals:
    keywords: [{{name: urgent, keywords: [now]}}]
    domains: [{{name: law}}]
    classifiers: [{{name: tone, type: local, model_path: m, labels: [kind, rude]}}]
  projections: {}
)",
                                    kTwoModels, projections));
  };
  const std::string input = "f.yaml:12: routing.projections.scores[0].inputs[0].";
  EXPECT_EQ(with("{scores: [{name: s, inputs: [{type: keyword, name: urgnet}]}]}"),
            input + "name: unknown keyword signal \"urgnet\"; did you mean \"urgent\"?");
  EXPECT_EQ(with("{scores: [{name: s, inputs: [{type: keywrd, name: urgent}]}]}"),
            input + "type: unknown signal type \"keywrd\"; did you mean \"keyword\"?");
  EXPECT_EQ(with("{scores: [{name: s, inputs: [{type: session_metric, name: bad}]}]}"), "accepted");
  EXPECT_EQ(with("{scores: [{name: s, inputs: [{type: classifier, name: 'tone:rude'}, {type: "
                 "domain, name: math}]}, {name: t, inputs: [{type: projection, name: s}]}]}"),
            "accepted");
  EXPECT_EQ(with("{scores: [{name: s, inputs: [{type: classifier, name: tone}]}]}"),
            input + "name: unknown classifier signal \"tone\" (known: tone:kind, tone:rude)");
  EXPECT_EQ(with("{partitions: [{name: p, members: ['tone:rude', 'tone:kind'], default: law}]}"),
            "accepted");
  EXPECT_EQ(with("{partitions: [{name: p, members: [tone]}]}"),
            "f.yaml:12: routing.projections.partitions[0].members: no signal is called \"tone\"");
  EXPECT_EQ(with("{partitions: [{name: p, members: [law, urgnet]}]}"),
            "f.yaml:12: routing.projections.partitions[0].members: no signal is called "
            "\"urgnet\"; did you mean \"urgent\"?");
  EXPECT_EQ(with("{partitions: [{name: p, members: [law], default: lwa}]}"),
            "f.yaml:12: routing.projections.partitions[0].default: no signal is called \"lwa\"; "
            "did you mean \"law\"?");
}

TEST(NewerSignals, complexity_may_have_two_bounds) {
  const auto signal = [](std::string_view keys) {
    return fmt::format("{}routing: {{signals: {{complexity: [{{name: c, {}}}]}}}}\n", kTwoModels,
                       keys);
  };
  const auto made = newer_config(signal("hard_above: 0.3, easy_below: -0.1")).routing.complexity;
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].hard_above, 0.3);
  EXPECT_EQ(made[0].easy_below, -0.1);
  const std::string at = "f.yaml:7: routing.signals.complexity[0]";
  const std::string either = ": expected either threshold, or hard_above and easy_below";
  EXPECT_EQ(newer_errors(signal("hard_above: 0.3")), at + either);
  EXPECT_EQ(newer_errors(signal("hard_above: 0.3, easy_below: 0, threshold: 0")), at + either);
  EXPECT_EQ(newer_errors(signal("hard_above: 0.3, easy_below: 0.3")),
            at + ".easy_below: expected less than hard_above, which is 0.3, found 0.3");
  EXPECT_EQ(newer_errors(signal("hard_above: 2, easy_below: -2")), "accepted");
  EXPECT_EQ(newer_errors(signal("hard_above: 50, easy_below: -0.1")),
            at + ".hard_above: expected a number from -2 to 2, found 50");
  EXPECT_EQ(newer_errors(signal("hard_below: 0.3, easy_above: 0.5")),
            at + ": hard_below and easy_above are for a server that scores requests "
                 "(modules.complexity.backend with the contract score.v1); use hard_above and "
                 "easy_below");
}

TEST(NewerSignals, embeddings_may_have_negative_candidates_and_a_scoring_of_their_own) {
  const auto signal = [](std::string_view keys) {
    return fmt::format(
        "{}routing: {{signals: {{embeddings: [{{name: e, candidates: [a], {}}}]}}}}\n", kTwoModels,
        keys);
  };
  const Config config = newer_config(
      signal("negative_candidates: [b], threshold: -1.5, prototype_scoring: {top_m: 3}"));
  const EmbeddingSignal& made = config.routing.embeddings.at(0);
  EXPECT_EQ(made.negative_candidates, std::vector<std::string>{"b"});
  EXPECT_EQ(made.threshold, -1.5);
  ASSERT_TRUE(made.prototype_scoring);
  EXPECT_EQ(made.prototype_scoring->top_m, 3u);
  EXPECT_EQ(newer_errors(signal("threshold: 1.5")),
            "f.yaml:7: routing.signals.embeddings[0].threshold: expected a number from -1 to 1, "
            "found 1.5");
}

TEST(NewerSignals, actions_are_signals) {
  const std::string text = std::string(kTwoModels) + R"(routing:
  signals: {actions: [{name: fix}, {name: fixx}]}
  decisions: [{name: d, modelRefs: [{model: large}], rules: {type: action, name: fix}}]
)";
  EXPECT_EQ(newer_notices(text),
            "f.yaml:8: routing.signals.actions[1]: \"fixx\" never matches; did you mean \"fix\"?");
}

TEST(NewerSignals, facts_about_agents_are_signals) {
  const auto with = [](std::string_view predicate, std::string_view settings) {
    return std::string(kTwoModels) + fmt::format(R"(routing:
  signals: {{agentic_facts: [{{name: reviewer, field: delegated_role, predicate: {}}}]}}
  decisions: [{{name: d, modelRefs: [{{model: large}}], rules: {{type: agentic_facts, name: reviewer}}}}]
global: {{router: {{agentic_facts: {}}}}}
)",
                                                 predicate, settings);
  };
  EXPECT_EQ(newer_notices(with("{in: [reviewer, tester]}", "{enabled: true}")), "");
  EXPECT_EQ(newer_notices(with("{equals: reviewer}", "{}")),
            "f.yaml:8: routing.signals.agentic_facts: never match, because "
            "global.router.agentic_facts is not enabled");
  EXPECT_EQ(newer_errors(with("{equals: a, in: [b]}", "{enabled: true}")),
            "f.yaml:8: routing.signals.agentic_facts[0].predicate: expected one of \"equals\" and "
            "\"in\"");
  EXPECT_EQ(
      newer_errors(with("{equals: a}", "{carrier_header: X-A, trust: {marker_header: x-a}}")),
      "f.yaml:10: global.router.agentic_facts: \"X-A\" is the header of the facts and the one "
      "that vouches for them; expected two headers");
}

TEST(NewerSignals, kinds_of_input_are_signals) {
  const Config config = newer_config(std::string(kTwoModels) + R"(routing:
  signals: {input_modality: [{name: sees, modality: image}, {name: hears, modality: audio}]}
  decisions:
    - {name: d, modelRefs: [{model: large}], rules: {type: input_modality, name: sees}}
)");
  ASSERT_EQ(config.routing.input_modality.size(), 2u);
  EXPECT_EQ(config.routing.input_modality[1].modality, InputModalitySignal::Modality::kAudio);
}

// --- what is left ---

TEST(NewerSignals, the_management_api_leaves_its_usual_port_to_a_listener) {
  const std::string listeners = "listeners: [{name: x, port: 8080}, {name: y, port: 8081}]\n";
  EXPECT_EQ(newer_config(std::string(kTwoModels) + listeners).management.port, 8082);
  EXPECT_EQ(newer_notices(std::string(kTwoModels) + listeners),
            "f.yaml:7: global.services.management_api.port: 8082, because the usual port 8080 has "
            "another use");
  EXPECT_EQ(newer_errors(std::string(kTwoModels) + listeners +
                         "global: {services: {management_api: {port: 8080}}}\n"),
            "f.yaml:7: listeners[0].port: 8080 is also the port of global.services.management_api");
  EXPECT_EQ(newer_config(std::string(kTwoModels) + listeners +
                         "global: {services: {management_api: {port: }}}\n")
                .management.port,
            8082)
      << "a key without a value sets no port";
}

TEST(NewerSignals, parts_without_a_counterpart_give_a_notice_each) {
  const std::string notices = newer_notices(std::string(kTwoModels) + R"(evaluation: {records: [{}]}
routing:
  candidate_requirements: {strict: true}
  signals: {topic_continuity: [{name: i}], events: []}
global:
  services: {backend_egress: {policy_file: p}, observability: {profiling: {enabled: false}}}
  stores: {tool_sessions: {backend: redis}}
  model_catalog: {admission: {b: {max_queue: 1}}, signal_timeout_ms: 5, system: {hazard: a}}
  integrations: {kv_transfer: {enabled: true}}
)");
  EXPECT_EQ(notices.find("unknown key"), std::string::npos) << notices;
  for (const char* key : {"f.yaml:7: evaluation: has no effect: ",
                          "f.yaml:9: routing.candidate_requirements: has no effect: ",
                          "f.yaml:10: routing.signals.topic_continuity: has no effect: ",
                          "f.yaml:12: global.services.backend_egress: has no effect: ",
                          "f.yaml:13: global.stores.tool_sessions: has no effect: ",
                          "f.yaml:14: global.model_catalog.admission: has no effect: ",
                          "f.yaml:14: global.model_catalog.signal_timeout_ms: has no effect: ",
                          "f.yaml:14: global.model_catalog.system.hazard: has no effect: ",
                          "f.yaml:15: global.integrations.kv_transfer: has no effect: "}) {
    EXPECT_NE(notices.find(key), std::string::npos) << key << "\n" << notices;
  }
  EXPECT_EQ(notices.find("profiling"), std::string::npos) << "the file switches it off";
  EXPECT_EQ(notices.find("unknown key"), std::string::npos) << notices;
}

}  // namespace
}  // namespace signalbox::config
