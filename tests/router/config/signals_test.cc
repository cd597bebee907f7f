// Signals that a server answers or that nobody computes: questions to decision models, the
// difficulty of requests, facts about conversations.

#include <gtest/gtest.h>

#include "tests/router/config/newer_forms.h"

namespace signalbox::config {
namespace {

// --- signals that are not built, or that nobody computes ---

constexpr std::string_view kNobodyAnswers =
    "signals: {decision: [{name: kind, question: {type: noul, instructions: \"Is it code?\"}}], "
    "session: [{name: s, fact: quality_gap}]}";

std::string with_condition(std::string_view rules, std::string_view more = "") {
  return fmt::format(
      "{}routing:\n  {}\n  decisions: [{{name: d, rules: {}, modelRefs: [{{model: small}}]{}}}]\n",
      kTwoModels, kNobodyAnswers, rules, more);
}

TEST(UnbuiltSignals, each_gets_a_notice) {
  constexpr std::string_view kSo =
      "conditions on the signal do not match, nor does NOT of them (docs/upstream.md)";
  EXPECT_EQ(newer_notices(with_condition("{type: decision, name: kind}")),
            fmt::format("f.yaml:8: routing.signals.session[0].fact: the router does not have this "
                        "fact; {}\nf.yaml:8: routing.signals.decision[0]: no server answers the "
                        "question; its deployment must name one (provider: http and "
                        "external_model); {}",
                        kSo, kSo));
  EXPECT_EQ(newer_notices(std::string(kTwoModels) +
                          "routing:\n  decisions: [{name: d, rules: {type: session_metric, name: "
                          "cost}, modelRefs: [{model: small}]}]\n"),
            "f.yaml:8: routing.decisions[0].rules.type: does not match, nor does NOT of it: there "
            "are no signals of this type (docs/upstream.md)");
}

TEST(UnbuiltSignals, no_decision_that_keeps_requests_away_may_depend_on_one) {
  constexpr std::string_view kRefuses =
      ", plugins: [{type: fast_response, configuration: {message: No.}}]";
  constexpr std::string_view kRules = "{operator: NOT, conditions: [{type: decision, name: kind}]}";
  const auto why = [](std::string_view verb) {
    return fmt::format(
        "f.yaml:9: routing.decisions[0].rules: the decision \"d\" cannot be relied on to {}, "
        "because a signal of its rules is not built or is never computed",
        verb);
  };
  EXPECT_EQ(newer_errors(with_condition(kRules, kRefuses)), why("refuse"));
  EXPECT_EQ(newer_errors(with_condition(kRules, ", action: {type: route, destination: large}")),
            why("route"));
  const std::string derived =
      newer_errors(fmt::format("{}routing:\n  {}\n", kTwoModels, kNobodyAnswers) + R"(  projections:
    scores: [{name: s, inputs: [{type: decision, name: kind}]}]
    mappings: [{name: m, source: s, method: threshold_bands, outputs: [{name: high, gte: 0.5}]}]
  decisions:
    - {name: d, rules: {type: projection, name: high}, plugins: [{type: fast_response, configuration: {message: No.}}]}
)");
  EXPECT_NE(derived.find("cannot be relied on to refuse"), std::string::npos) << derived;
  constexpr std::string_view kMasks =
      ", plugins: [{type: pii_mask, configuration: {enabled: true}}]";
  constexpr std::string_view kDrops = ", emits: [{kind: retention, retention: {drop: true}}]";
  EXPECT_EQ(newer_errors(with_condition(kRules, kMasks)), why("mask"));
  EXPECT_EQ(newer_errors(with_condition(kRules, kDrops)), why("drop"));
  EXPECT_EQ(newer_errors(with_condition(
                kRules, ", plugins: [{type: pii_mask, configuration: {enabled: false}}]")),
            "accepted");
  EXPECT_EQ(
      newer_errors(with_condition(
          "{operator: AND, on_unknown: fail_request, conditions: [{type: decision, name: kind}]}",
          kRefuses)),
      "accepted")
      << "its requests get 503";
}

TEST(UnbuiltSignals, a_guard_on_another_projection_is_accepted) {
  const auto errors_of = [](std::string_view output) {
    return newer_errors(fmt::format(R"({}routing:
  signals: {{keywords: [{{name: k, keywords: [secret]}}], session: [{{name: s, fact: cache_warmth}}]}}
  projections:
    scores:
      - {{name: third, inputs: [{{type: projection, name: second}}]}}
      - {{name: second, inputs: [{{type: projection, name: turns}}]}}
      - {{name: first, inputs: [{{type: session, name: s}}]}}
      - {{name: other, inputs: [{{type: keyword, name: k}}]}}
    mappings:
      - {{name: a, source: first, method: threshold_bands, outputs: [{{name: turns, gte: 0.5}}]}}
      - {{name: b, source: third, method: threshold_bands, outputs: [{{name: long, gte: 0.5}}]}}
      - {{name: c, source: other, method: threshold_bands, outputs: [{{name: secret, gte: 0.5}}]}}
  decisions:
    - {{name: d, rules: {{type: projection, name: {}}}, plugins: [{{type: fast_response, configuration: {{message: No.}}}}]}}
)",
                                    kTwoModels, output));
  };
  EXPECT_EQ(errors_of("secret"), "accepted");
  EXPECT_NE(errors_of("turns").find("cannot be relied on to refuse"), std::string::npos);
  EXPECT_NE(errors_of("long").find("cannot be relied on to refuse"), std::string::npos)
      << "through other scores";
}

TEST(UnbuiltSignals, the_whole_name_of_a_session_signal_counts) {
  const auto errors_of = [](std::string_view name) {
    return newer_errors(fmt::format(
        R"({}routing:
  signals: {{session: [{{name: "a:b", fact: cache_warmth}}]}}
  decisions: [{{name: d, rules: {{type: session, name: "{}"}}, plugins: [{{type: fast_response, configuration: {{message: No.}}}}]}}]
)",
        kTwoModels, name));
  };
  EXPECT_NE(errors_of("a:b").find("cannot be relied on to refuse"), std::string::npos);
}

TEST(SessionSignals, a_previous_model_that_cannot_match_gets_a_notice) {
  const auto notices_of = [](std::string_view signal) {
    return newer_notices(fmt::format(
        "{}routing: {{signals: {{session: [{{name: s, predicate: {{gte: 1}}, {}}}]}}}}\n"
        "global: {{router: {{learning: {{enabled: true}}}}}}\n",
        kTwoModels, signal));
  };
  EXPECT_EQ(notices_of("fact: turn_index, previous_model: small"),
            "f.yaml:7: routing.signals.session[0].previous_model: has no effect: only the fact "
            "has_previous_model reads it");
  EXPECT_NE(notices_of("fact: has_previous_model, previous_model: nope")
                .find("there is no model \"nope\"; conditions on the signal do not match"),
            std::string::npos);
  EXPECT_EQ(notices_of("fact: has_previous_model, previous_model: small"), "");
}

// --- decision models ---

std::string with_question(std::string_view question, std::string_view rules) {
  return fmt::format(R"({}routing:
  signals: {{decision: [{{name: q, deployment: d, {}}}]}}
  decisions: [{{name: d, rules: {}, modelRefs: [{{model: small}}]}}]
global:
  model_catalog:
    deployments: {{d: {{provider: http, external_model: e}}}}
    external: [{{name: e, llm_model_name: m, llm_endpoint: {{address: h, port: 1}}}}]
)",
                     kTwoModels, question, rules);
}

TEST(Questions, conditions_name_the_options_of_a_choice_alone) {
  constexpr std::string_view kChoice =
      "question: {type: choice, instructions: i, choices: [{key: code}, {key: math}]}";
  constexpr std::string_view kYesNo = "question: {type: noul, instructions: i}";
  const std::string at = "f.yaml:9: routing.decisions[0].rules.label: ";
  EXPECT_EQ(newer_errors(with_question(kChoice, "{type: decision, name: q, label: code}")),
            "accepted");
  EXPECT_EQ(newer_errors(with_question(kChoice, "{type: decision, name: q, label: cod}")),
            at + "\"cod\" is not a label of the decision \"q\"; did you mean \"code\"?");
  EXPECT_EQ(newer_errors(with_question(kChoice, "{type: decision, name: q}")),
            at + "missing; expected an option of the question");
  EXPECT_EQ(newer_errors(with_question(kYesNo, "{type: decision, name: q}")), "accepted");
  EXPECT_EQ(newer_errors(with_question(kYesNo, "{type: decision, name: q, label: yes}")),
            at + "only questions of the type choice have options");
  const std::string config = with_question(kYesNo, "{type: decision, name: q}");
  EXPECT_EQ(newer_config(config).routing.questions.at(0).server, "e");
}

TEST(Questions, mistakes_are_errors) {
  const std::string at = "f.yaml:8: routing.signals.decision[0]";
  const auto errors = [](std::string_view question) {
    return newer_errors(with_question(question, "{type: decision, name: q}"));
  };
  EXPECT_EQ(
      errors("question: {type: choice, instructions: i, choices: [{key: code}]}").substr(0, 80),
      (at + ".question: expected 2 to 255 choices, found 1").substr(0, 80));
  EXPECT_EQ(errors("question: {type: score, instructions: i, levels: [low, high]}"),
            at + ": a question of the type score needs a predicate");
  EXPECT_EQ(errors("question: {type: choice, instructions: i, choices: [{key: b}, {key: b}]}")
                .find(at + ".question: the key \"b\" is there twice"),
            0u);
}

TEST(Questions, parts_of_other_types_have_no_effect) {
  EXPECT_EQ(newer_notices(with_question("question: {type: noul, instructions: i, choices: [{key: "
                                        "a}], levels: [low, high]}",
                                        "{type: decision, name: q}")),
            "f.yaml:8: routing.signals.decision[0].question.choices: has no effect; only a "
            "question of the type choice has choices\n"
            "f.yaml:8: routing.signals.decision[0].question.levels: has no effect; only a question "
            "of the type score has levels");
}

// --- sessions ---

std::string with_session(std::string_view signal, std::string_view effect) {
  return fmt::format(R"({}routing:
  signals: {{session: [{{name: s, {}}}]}}
  decisions: [{{name: d, rules: {{type: session, name: s}}{}}}]
global: {{router: {{learning: {{enabled: true}}}}}}
)",
                     kTwoModels, signal, effect);
}

TEST(Sessions, a_signal_that_never_matches_is_reported) {
  constexpr std::string_view kChooses = ", modelRefs: [{model: small}]";
  constexpr std::string_view kRefuses =
      ", plugins: [{type: fast_response, configuration: {message: No.}}]";
  const std::string rules =
      "f.yaml:9: routing.decisions[0].rules: a condition on the session signal \"s\" never "
      "matches, because it has no predicate";
  EXPECT_EQ(newer_notices(with_session("fact: turn_index", kChooses)), rules);
  EXPECT_EQ(newer_errors(with_session("fact: turn_index", kRefuses)), rules);
  EXPECT_EQ(newer_notices(with_session("fact: turn_index, predicate: {gt: 1}", kRefuses)), "");
}

// --- difficulty by a server ---

TEST(RatedComplexity, the_bounds_of_a_server_that_scores_requests_may_go_down) {
  const auto signal = [](std::string_view contract, std::string_view keys) {
    return fmt::format(
        "{}routing: {{signals: {{complexity: [{{name: c{}}}]}}}}\n"
        "global: {{model_catalog: {{modules: {{complexity: {{backend: {{protocol: http_classify, "
        "model: e{}}}}}}}, external: [{{name: e, model_role: classification, llm_endpoint: "
        "{{address: h, port: 1}}}}]}}}}\n",
        kTwoModels, keys, contract);
  };
  constexpr std::string_view kScore = ", contract: score.v1";
  const std::string at = "f.yaml:7: routing.signals.complexity[0]";
  EXPECT_EQ(newer_errors(signal(kScore, ", hard_below: 30, easy_above: 50")), "accepted");
  EXPECT_EQ(newer_errors(signal(kScore, ", hard_below: 50, easy_above: 30")),
            at + ".easy_above: expected more than hard_below, which is 50, found 30");
  EXPECT_EQ(newer_errors(signal(kScore, ", hard_above: 50, easy_below: 30")), "accepted");
  EXPECT_EQ(newer_errors(signal(kScore, "")),
            at + ": the server of modules.complexity.backend has a scale of its own; expected "
                 "hard_above and easy_below, or hard_below and easy_above");
  EXPECT_EQ(newer_errors(signal(", contract: label_distribution.v1", "")), "accepted");
  const std::string unread =
      ": has no effect, because the server of modules.complexity.backend rates the requests";
  EXPECT_EQ(newer_notices(signal(", contract: label_distribution.v1",
                                 ", threshold: 0.2, hard: {candidates: [a]}")),
            at + ".hard" + unread + "\n" + at + ".threshold" + unread);
  EXPECT_EQ(
      newer_notices(signal(kScore, ", hard_above: 50, easy_below: 30, easy: {candidates: [a]}")),
      at + ".easy" + unread);
  EXPECT_EQ(newer_errors(signal("", "")),
            "f.yaml:8: global.model_catalog.modules.complexity.backend: expected the contract "
            "label_distribution.v1, whose labels are easy, medium and hard, or score.v1");
}

}  // namespace
}  // namespace signalbox::config
