// Tests the modules of the model catalog that call a server: which one they call, and what is
// refused.

#include <gtest/gtest.h>

#include "base/ascii.h"
#include "base/json.h"
#include "router/config/load.h"

namespace signalbox::config {
namespace {

std::string with_models(std::string text) {
  constexpr std::string_view kPlace = "@providers";
  constexpr std::string_view kModels =
      "providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: [{type: "
      "echo}]}]}";
  const size_t at = text.find(kPlace);
  if (at != std::string::npos) text.replace(at, kPlace.size(), kModels);
  return text;
}

std::string notices_about(const std::string& text) {
  const auto loaded = parse(with_models(text), "f.yaml");
  if (!loaded) return "refused: " + loaded.error().message;
  std::string all;
  for (const std::string& notice : loaded->notices) all += notice + "\n";
  return all;
}

Config config_of(std::string_view text) {
  auto loaded = parse(with_models(std::string(text)), "f.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? std::move(loaded->config) : Config{};
}

// A guard that is configured and never called would admit everything.
TEST(Config, a_guard_on_a_server_needs_one_server) {
  const auto notices = [](std::string_view module, std::string_view servers) {
    return notices_about(fmt::format(R"(version: v0.3
@providers
global:
  model_catalog:
    external: [{}]
    modules: {{{}}}
)",
                                     servers, module));
  };
  const auto server = [](std::string_view name, std::string_view role, std::string_view address) {
    return fmt::format(
        "{{name: {}, model_role: {}, llm_model_name: m, llm_endpoint: {{address: \"{}\"}}}}", name,
        role, address);
  };
  const std::string one = server("one", "guardrail", "guard.example");
  const std::string two = one + ", " + server("two", "guardrail", "guard.example");
  const std::string_view guard = "prompt_guard: {variant: http_classify}";
  const std::string missing =
      "refused: f.yaml:6: global.model_catalog.modules.prompt_guard: http_classify requires one "
      "model of global.model_catalog.external with model_role: guardrail; if there are several, "
      "model_id names the one to call";
  EXPECT_EQ(notices(guard, one), "");
  EXPECT_EQ(notices(guard, ""), missing);
  EXPECT_EQ(notices(guard, two), missing);
  EXPECT_EQ(notices("prompt_guard: {variant: http_chat, model_id: two}", two), "");
  EXPECT_EQ(notices("prompt_guard: {protocol: external}", one), "");
  EXPECT_EQ(notices("prompt_guard: {variant: http_classify, enabled: false}", ""), "");
  EXPECT_EQ(notices(guard, server("one", "guardrail", "")),
            "refused: f.yaml:6: global.model_catalog.modules.prompt_guard: the model \"one\" of "
            "global.model_catalog.external has no llm_endpoint.address");
  EXPECT_EQ(notices("prompt_guard: {variant: http_magic}", one),
            "refused: f.yaml:6: global.model_catalog.modules.prompt_guard.variant: expected "
            "http_classify or http_chat, found \"http_magic\"");
  EXPECT_EQ(notices("classifier: {pii: {variant: http_chat}}", server("p", "pii", "p.example")),
            "refused: f.yaml:6: global.model_catalog.modules.classifier.pii.variant: expected "
            "http_classify, found \"http_chat\"");
  // Words for a server count in any case.
  for (const std::string_view variant : {"HTTP_CLASSIFY", "Http_Chat", "External"})
    EXPECT_EQ(
        notices(fmt::format("prompt_guard: {{variant: {}}}", variant), ""),
        fmt::format("refused: f.yaml:6: global.model_catalog.modules.prompt_guard: {} requires "
                    "one model of global.model_catalog.external with model_role: guardrail; if "
                    "there are several, model_id names the one to call",
                    ascii::lower_case(variant)));
  EXPECT_EQ(notices("prompt_guard: {variant: http_classify, model_id: one}, classifier: {pii: "
                    "{variant: http_classify, model_id: one}}",
                    one),
            "refused: f.yaml:6: global.model_catalog.modules.classifier.pii: the model \"one\" of "
            "global.model_catalog.external is also that of prompt_guard; expected one of its own");
  EXPECT_EQ(notices("prompt_guard: {variant: http_classify, positive_labels: [A, a]}", one),
            "refused: f.yaml:6: global.model_catalog.modules.prompt_guard.positive_labels[1]: "
            "\"a\" is there twice");
  EXPECT_EQ(notices("", one + ", " + one),
            "refused: f.yaml:5: global.model_catalog.external[1]: \"one\" is there twice");
}

// A module that is configured to call a server must not run a directory in silence.
TEST(Config, a_module_on_a_server_needs_a_server_of_its_own) {
  const auto notices = [](std::string_view modules, std::string_view servers) {
    return notices_about(fmt::format(R"(version: v0.3
@providers
global:
  model_catalog:
    external: [{}]
    modules: {{{}}}
)",
                                     servers, modules));
  };
  const auto server = [](std::string_view name) {
    return fmt::format(
        "{{name: {}, model_role: classification, llm_model_name: m, llm_endpoint: {{address: "
        "c.example}}}}",
        name);
  };
  const std::string one = server("one"), two = fmt::format("{}, {}", one, server("two"));
  const std::string_view kForms[] = {
      "classifier: {{domain: {}}}", "hallucination_mitigation: {{fact_check: {}}}",
      "feedback_detector: {}", "modality_detector: {{classifier: {}}}"};
  for (const std::string_view form : kForms) {
    const auto of = [&](std::string_view settings) {
      return fmt::format(fmt::runtime(form), settings);
    };
    const std::string variant = of("{variant: http_classify}");
    EXPECT_EQ(notices(variant, one), "");
    EXPECT_NE(notices(variant, "").find("http_classify requires one model"), std::string::npos);
    EXPECT_NE(notices(variant, two).find("names the one to call"), std::string::npos);
    EXPECT_NE(notices(of("{variant: HTTP_CHAT}"), one)
                  .find("variant: expected http_classify, found \"http_chat\""),
              std::string::npos);
    const std::string backend = of("{backend: {protocol: http_classify, model: two}}");
    EXPECT_EQ(notices(backend, two), "");
    EXPECT_NE(notices(backend, one).find("there is no model \"two\" in"), std::string::npos);
  }
  EXPECT_EQ(notices("classifier: {domain: {variant: http_classify}}, feedback_detector: {variant: "
                    "http_classify}",
                    one),
            "refused: f.yaml:6: global.model_catalog.modules.feedback_detector: the model \"one\" "
            "of global.model_catalog.external is also that of classifier.domain; expected one of "
            "its own");
  // Nothing is called where the words alone decide.
  EXPECT_EQ(
      notices("modality_detector: {method: keyword, classifier: {variant: http_classify}}", ""),
      "");
}

TEST(Config, reads_the_backend_of_a_module) {
  const std::string_view file = R"(version: v0.3
@providers
global:
  model_catalog:
    external:
      - {name: fields, model_role: classification, llm_endpoint: {address: c.example, port: 80}}
      - {name: spans, model_role: classification, llm_model_name: m, llm_endpoint: {address: s.example, port: 80}}
      - {name: shield, model_role: guardrail, llm_model_name: m, llm_endpoint: {address: g.example, port: 80}}
    modules:
      classifier:
        domain: {backend: {protocol: http_classify, contract: label_distribution.v1, model: fields, deadline_ms: 700}}
        pii: {backend: {protocol: http_classify, contract: token_spans.v1, model: spans}}
      prompt_guard: {backend: {protocol: http_chat, model: shield}}
      feedback_detector: {backend: mmbert32k}
)";
  const Config config = config_of(file);
  EXPECT_EQ(server_of(config, "domain"), &config.external_models[0]);
  EXPECT_EQ(config.external_models[0].llm_model_name, "");  // a classifier's server has one model
  EXPECT_EQ(config.modules.classifier.domain.deadline_ms, 700u);
  EXPECT_EQ(server_of(config, "pii"), &config.external_models[1]);
  EXPECT_EQ(server_of(config, "jailbreak"), &config.external_models[2]);
  EXPECT_EQ(config.modules.prompt_guard.variant, kHttpChat);
  EXPECT_EQ(server_of(config, "user_feedback"), nullptr);
  EXPECT_EQ(config.modules.feedback_detector.variant, "mmbert32k");

  const auto notices = [](std::string_view domain) {
    return notices_about(fmt::format(R"(version: v0.3
@providers
global:
  model_catalog:
    external: [{{name: fields, llm_model_name: m, llm_endpoint: {{address: c.example}}}}]
    modules: {{classifier: {{domain: {{{}}}}}}}
)",
                                     domain));
  };
  const std::string_view path = "f.yaml:6: global.model_catalog.modules.classifier.domain.";
  const std::string_view backend = "backend: {protocol: http_classify, model: fields";
  EXPECT_EQ(notices(fmt::format("{}, circuit_breaker: {{enabled: true}}}}", backend)),
            fmt::format("{}backend.circuit_breaker: has no effect: after three failures in a row "
                        "the server is not called for a second (docs/upstream.md)\n",
                        path));
  EXPECT_EQ(
      notices(fmt::format("variant: candle, {}}}", backend)),
      fmt::format("refused: {}backend: \"backend\" takes the place of \"variant\"; expected one "
                  "of them",
                  path));
  EXPECT_EQ(
      notices("backend: {protocol: candle, model: fields}"),
      fmt::format("refused: {}backend.protocol: expected http_classify, found \"candle\"", path));
  EXPECT_NE(notices(fmt::format("{}, contract: score.v1}}", backend)).find("backend.contract:"),
            std::string::npos);
  EXPECT_NE(notices(fmt::format("{}, deadline_ms: 0}}", backend)).find("backend.deadline_ms:"),
            std::string::npos);
}

// A file that loads and fails at each request would be worse than one that is refused.
TEST(Config, refuses_a_server_that_cannot_do_what_the_module_requests) {
  const auto notices = [](std::string_view guard, std::string_view more = "") {
    return notices_about(fmt::format(R"(version: v0.3
@providers
global:
  model_catalog:
    external: [{{name: g, model_role: guardrail, llm_endpoint: {{address: g.example}}{}}}]
    modules: {{prompt_guard: {{{}}}}}
)",
                                     more, guard));
  };
  const std::string_view named = ", llm_model_name: m";
  const std::string path = "refused: f.yaml:6: global.model_catalog.modules.prompt_guard";
  EXPECT_EQ(notices("variant: http_classify"), "");
  EXPECT_EQ(notices("variant: external"), "");
  EXPECT_EQ(notices("variant: http_chat"),
            path +
                ": the model \"g\" of global.model_catalog.external has no llm_model_name, and "
                "http_chat requires one");
  EXPECT_EQ(notices("variant: http_chat", named), "");
  const auto with_contract = [&](std::string_view protocol, std::string_view contract) {
    return notices(
        fmt::format("backend: {{protocol: {}, model: g, contract: {}}}", protocol, contract),
        named);
  };
  EXPECT_EQ(with_contract("http_chat", "label_decision.v1"), "");
  EXPECT_EQ(with_contract("http_classify", "label_distribution.v1"), "");
  EXPECT_EQ(with_contract("http_classify", "label_scores.v1"), "");
  EXPECT_EQ(with_contract("http_classify", "label_decision.v1"),
            path +
                ".backend.contract: expected label_distribution.v1 or label_scores.v1 with "
                "http_classify, found \"label_decision.v1\"");
  EXPECT_EQ(with_contract("http_chat", "label_scores.v1"),
            path +
                ".backend.contract: expected label_decision.v1 with http_chat, found "
                "\"label_scores.v1\"");
  EXPECT_EQ(notices("protocol: http_chat, backend: {protocol: http_classify, model: g}", named),
            path + ".backend: \"backend\" takes the place of \"variant\"; expected one of them");
}

TEST(Config, requires_the_name_of_a_model_that_a_chat_names) {
  const auto notices = [](std::string_view role) {
    return notices_about(fmt::format(R"(version: v0.3
@providers
global:
  model_catalog:
    external: [{{name: g, model_role: {}, llm_endpoint: {{address: g.example}}}}]
)",
                                     role));
  };
  for (const std::string_view role : {"classification", "guardrail", "PII"})
    EXPECT_EQ(notices(role), "") << role;
  for (const std::string_view role : {"preference", "judge", "\"\""})
    EXPECT_EQ(notices(role),
              "refused: f.yaml:5: global.model_catalog.external[0].llm_model_name: missing; "
              "expected a string")
        << role;
}

// Editors must not refuse what the program reads.
TEST(Schema, has_both_forms_of_a_backend) {
  const auto document = json::Document::parse(schema());
  ASSERT_TRUE(document) << document.error().message;
  const auto definitions = document->root().find("$defs");
  for (const std::string_view module :
       {"prompt_guard", "classifier.domain", "classifier.pii", "feedback_detector"}) {
    const auto keys = definitions->find(fmt::format("global.model_catalog.modules.{}", module));
    ASSERT_TRUE(keys) << module;
    const auto forms = keys->find("properties")->find("backend")->find("anyOf");
    ASSERT_TRUE(forms) << module;
    std::string all;
    for (const json::Value form : forms->items()) all += form.find("$ref") ? "mapping " : "text ";
    EXPECT_EQ(all, "mapping text ") << module;
  }
}

}  // namespace
}  // namespace signalbox::config
