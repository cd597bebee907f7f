// Tests the keys by which newer files of the Semantic Router limit records of requests, and the
// algorithm cascade.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/router/config/newer_forms.h"

namespace signalbox::config {
namespace {

TEST(NewerRecords, records_that_a_file_forbids_are_not_kept) {
  const auto with = [](std::string_view policy) {
    return newer_config(fmt::format(R"({}routing:
  data_policy: {}
  decisions:
    - {{name: a, modelRefs: [{{model: large}}], plugins: [{{type: router_replay, configuration: {{capture_request_body: true}}}}]}}
    - {{name: b, modelRefs: [{{model: large}}]}}
)",
                                    kTwoModels, policy))
        .routing.decisions;
  };
  for (const Decision& decision : with("{replay: false}")) {
    ASSERT_TRUE(decision.router_replay) << decision.name;
    EXPECT_FALSE(decision.router_replay->enabled) << decision.name;
  }
  const auto decisions = with("{replay_personal_data: false}");
  EXPECT_FALSE(decisions[0].router_replay->capture_personal_data);
  EXPECT_FALSE(decisions[1].router_replay);
  EXPECT_TRUE(with("{replay: true}")[0].router_replay->capture_personal_data);
}

TEST(NewerRecords, a_notice_names_the_key_that_keeps_texts_out_of_records) {
  const auto notices = [](std::string_view policy, std::string_view global,
                          std::string_view plugin) {
    return newer_notices(fmt::format(R"({}routing:
  data_policy: {}
  decisions: [{{name: a, modelRefs: [{{model: large}}], plugins: [{{type: router_replay, configuration: {}}}]}}]
global: {{services: {{router_replay: {}}}}}
)",
                                     kTwoModels, policy, plugin, global));
  };
  const std::string why = ": no texts are recorded, because personal data may be in any";
  const auto has = [&](const std::string& text, std::string_view key) {
    return text.find(std::string(key) + why) != text.npos;
  };
  constexpr std::string_view kByPolicy = "routing.data_policy.replay_personal_data";
  constexpr std::string_view kByService = "global.services.router_replay.capture_personal_data";
  constexpr std::string_view kForbidden = "{capture_personal_data: false}";
  constexpr std::string_view kCaptures = "{capture_request_body: true}";
  EXPECT_TRUE(has(notices("{replay_personal_data: false}", "{}", kCaptures), kByPolicy));
  EXPECT_TRUE(has(notices("{}", kForbidden, kCaptures), kByService));
  EXPECT_TRUE(
      has(notices("{}", kForbidden, "{capture_response_body: true, capture_personal_data: true}"),
          kByService));
  for (const std::string_view idle : {"{}", "{enabled: false, capture_request_body: true}"}) {
    const std::string text = notices("{replay_personal_data: false}", kForbidden, idle);
    EXPECT_EQ(text.find(why), text.npos) << text;
  }
}

TEST(NewerRecords, texts_of_records_are_a_matter_of_the_plugin) {
  const auto notices = [](std::string_view keys) {
    return newer_notices(
        fmt::format("{}global: {{services: {{router_replay: {}}}}}\n", kTwoModels, keys));
  };
  for (const std::string_view key :
       {"capture_request_body: true", "capture_response_body: true", "max_body_bytes: 4096",
        "max_tool_trace_bytes: 4096", "max_tool_trace_steps: 8"}) {
    const std::string expected = fmt::format("global.services.router_replay.{}: has no effect: ",
                                             key.substr(0, key.find(':')));
    const std::string text = notices(fmt::format("{{{}}}", key));
    EXPECT_NE(text.find(expected), text.npos) << text;
  }
  EXPECT_EQ(notices("{capture_request_body: false, capture_response_body: no}"), "");
}

TEST(NewerRecords, a_policy_on_records_is_never_left_out) {
  const auto with = [](std::string_view policy) {
    return newer_errors(fmt::format("{}routing: {{data_policy: {}}}\n", kTwoModels, policy));
  };
  EXPECT_EQ(with("{replay: on, replay_persnal_data: false}"),
            "f.yaml:7: routing.data_policy.replay_persnal_data: unknown policy; did you mean "
            "\"replay_personal_data\"?");
  EXPECT_EQ(with("none"), "f.yaml:7: routing.data_policy: expected a mapping, found \"none\"");
  EXPECT_EQ(with("{replay: true, replay_personal_data: true}"), "accepted");
}

TEST(NewerForms, a_cascade_answers_questions_of_system_one) {
  const std::string file = R"(version: v0.3
listeners: [{name: a, port: 1, systemone: {models: [vllm-sr/auto]}}]
providers:
  models:
    - {name: kai, api_format: systemone, backend_refs: [{base_url: "http://10.0.0.1:8900/v1"}]}
    - {name: vega, api_format: systemone, backend_refs: [{base_url: "http://10.0.0.2:8900/v1"}]}
entrypoints: [{api: systemone, model_names: [vllm-sr/auto], recipe: native}]
recipes:
  - name: native
    routing:
      budget: {deadline: 1500ms, max_calls: 2}
      decisions:
        - name: answer
          rules: {}
          modelRefs: [{model: kai}, {model: vega}]
          algorithm:
            type: cascade
            quality:
              type: uncalibrated
              acceptance: {rules: [{question_type: noul, field: confidence, predicate: {gte: 0}}]}
            stages:
              - {name: fast, kind: native, model: kai, timeout: 1s}
              - {name: strong, kind: native, model: vega, enabled: false}
)";
  EXPECT_EQ(newer_notices(file), "");
  const Config config = newer_config(file);
  const Algorithm& algorithm = config.recipes[0].routing.decisions[0].algorithm;
  EXPECT_TRUE(calls_several(algorithm, 1));
  EXPECT_EQ(algorithm.budget.deadline.count(), 1500);
  EXPECT_EQ(algorithm.stages[0].timeout.count(), 1000);
  EXPECT_FALSE(algorithm.stages[1].enabled);
  EXPECT_EQ(config.listeners[0].system_one, std::vector<std::string>{"vllm-sr/auto"});

  std::string hidden = file;
  hidden.replace(hidden.find("models: [vllm-sr/auto]"), 22, "models: [kai]");
  EXPECT_EQ(newer_notices(hidden),
            "f.yaml:7: entrypoints[0]: requests for \"vllm-sr/auto\" get 404, because no listener "
            "has it in systemone.models");
  EXPECT_EQ(newer_notices(fmt::format("{}routing: {{budget: {{max_calls: 2}}}}\n", kTwoModels)),
            "f.yaml:7: routing.budget: has no effect without a decision with the algorithm "
            "`cascade`");
}

TEST(NewerForms, a_fallback_that_a_failed_call_prevents_is_reported) {
  constexpr std::string_view kFile = R"({}routing:
  decisions:
    - name: d
      modelRefs: [{{model: small}}]
      algorithm: {{type: fusion, fusion: {{{}quorum_failure_policy: fallback, analysis_models: [small], quorum_fallback_target: large}}}}
)";
  EXPECT_EQ(newer_notices(fmt::format(kFile, kTwoModels, "")), "");
  EXPECT_EQ(newer_notices(fmt::format(kFile, kTwoModels, "on_error: fail, ")),
            "f.yaml:11: routing.decisions[0].algorithm.fusion.quorum_failure_policy: one failed "
            "call fails the request without a fallback, by `on_error: fail`");
}

TEST(NewerForms, no_chat_goes_to_a_model_of_system_one) {
  const auto notices_of = [](std::string_view defaults, std::string_view kai, std::string_view gpt,
                             std::string_view algorithm) {
    return newer_notices(fmt::format(
        R"(version: v0.3
providers:
  defaults: {{default_model: {}}}
  models:
    - {{name: kai, api_format: systemone, backend_refs: [{{type: echo}}]{}}}
    - {{name: gpt, backend_refs: [{{type: echo}}]{}}}
    - {{name: large, backend_refs: [{{type: echo}}]}}
routing: {{decisions: [{{name: d, modelRefs: [{{model: gpt}}, {{model: large}}]{}}}]}}
)",
        defaults, kai, gpt, algorithm));
  };
  const auto expect = [](const std::string& found, std::string_view part) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  EXPECT_FALSE(notices_of("gpt", "", "", "").starts_with("refused"));
  expect(notices_of("kai", "", "", ""),
         "f.yaml:3: providers.defaults.default_model: chats that no decision matches get 400, "
         "because the servers of \"kai\" have api_format: systemone");
  expect(notices_of("gpt", ", responses_api: true", "", ""),
         "refused: f.yaml:5: providers.models[0].responses_api: a model with api_format: systemone "
         "has no other API");
  expect(notices_of("gpt", "", ", reliability: {fallback_models: [kai]}", ""),
         "refused: f.yaml:6: providers.models[1].reliability.fallback_models: the servers of "
         "\"kai\" have another API");
  for (const std::string_view more :
       {", algorithm: {type: fusion, fusion: {model: kai}}",
        ", algorithm: {type: fusion, fusion: {analysis_models: [gpt, kai]}}",
        ", algorithm: {type: remom, remom: {breadth_schedule: [1], synthesis_model: kai}}",
        ", plugins: [{type: shadow_dispatch, configuration: {enabled: true, arms: [{name: a, "
        "model: kai}]}}]"}) {
    expect(notices_of("gpt", "", "", more),
           "f.yaml:8: routing.decisions[0]: the servers of \"kai\" answer no chats");
  }
}

}  // namespace
}  // namespace signalbox::config
