// Tests that files with models of the Semantic Router's catalogue, and with deployments and
// bindings, mean the same here.

#include <fmt/format.h>

#include "tests/router/config/newer_forms.h"

namespace signalbox::config {
namespace {

// --- the catalogue ---

std::string catalogued(std::string_view model) {
  return fmt::format("version: v0.3\nproviders: {{models: [{{name: m, {}}}]}}\n", model);
}

TEST(Catalogue, a_provider_has_an_address_and_names_for_the_models_of_the_catalogue) {
  const Model openai =
      newer_config(catalogued("catalog: openai/gpt-5.5, backend_refs: [{provider: openai, "
                              "api_key: k}]"))
          .providers.models.at(0);
  EXPECT_EQ(openai.provider_model_id, "gpt-5.5");
  EXPECT_EQ(openai.backend_refs[0].host, "api.openai.com");
  EXPECT_TRUE(openai.backend_refs[0].tls);
  EXPECT_EQ(openai.backend_refs[0].path_prefix, "");
  const Model own = newer_config(catalogued("catalog: tencent/hunyuan-7b-instruct, backend_refs: "
                                            "[{provider: vllm, base_url: 'http://h:8000/v1'}]"))
                        .providers.models.at(0);
  EXPECT_EQ(own.provider_model_id, "tencent/Hunyuan-7B-Instruct");
  EXPECT_EQ(own.backend_refs[0].host, "h");
  for (const std::string_view given :
       {"provider: gemini",
        "base_url: 'https://generativelanguage.googleapis.com/v1beta/openai/'"}) {
    const Model gemini = newer_config(catalogued(fmt::format("backend_refs: [{{{}}}]", given)))
                             .providers.models.at(0);
    EXPECT_EQ(gemini.backend_refs[0].chat_path, "/v1beta/openai/chat/completions") << given;
  }
  const Model claude =
      newer_config(catalogued("provider_model_id: c, backend_refs: [{provider: anthropic, "
                              "api_key: k}]"))
          .providers.models.at(0);
  EXPECT_EQ(claude.api_format, Model::ApiFormat::kAnthropic);
  EXPECT_EQ(claude.backend_refs[0].auth_header, "x-api-key");
  EXPECT_EQ(claude.backend_refs[0].auth_prefix, "");
}

TEST(Catalogue, the_other_api_of_anthropic_takes_keys_like_all_others) {
  const auto backend = [](std::string_view model, std::string_view more) {
    return newer_config(catalogued(fmt::format("{}, backend_refs: [{{provider: anthropic, "
                                               "base_url: 'http://h/v1', api_key: k{}}}]",
                                               model, more)))
        .providers.models.at(0)
        .backend_refs.at(0);
  };
  EXPECT_EQ(backend("api_format: openai", "").auth_header, "Authorization");
  EXPECT_EQ(backend("api_format: openai", "").auth_prefix, "Bearer");
  EXPECT_EQ(backend("api_format: anthropic", "").auth_header, "x-api-key");
  EXPECT_EQ(backend("api_format: anthropic", ", auth_header: Authorization").auth_prefix, "Bearer");
}

TEST(Catalogue, an_echo_backend_needs_no_address_of_its_provider) {
  const Model model = newer_config(catalogued("backend_refs: [{type: echo, provider: openai}]"))
                          .providers.models.at(0);
  EXPECT_EQ(model.backend_refs[0].host, "");
}

TEST(Catalogue, a_file_cannot_name_envoys_servers_by_a_type) {
  const Config config = newer_config(catalogued("backend_refs: [{type: envoy, endpoint: 'h:1'}]"));
  EXPECT_FALSE(config.providers.models.at(0).backend_refs.at(0).is_envoys);
  EXPECT_EQ(config.listeners.size(), 1u);
}

TEST(Catalogue, the_backends_of_a_model_have_one_name_for_it) {
  const auto file = [](std::string_view other) {
    return catalogued(
        fmt::format("catalog: qwen/qwen3.6-27b, backend_refs: [{{endpoint: 'h:1'}}, "
                    "{{type: echo}}, {}]",
                    other));
  };
  EXPECT_EQ(newer_errors(file("{provider: vllm, endpoint: 'i:1'}")), "accepted");
  EXPECT_EQ(newer_errors(file("{provider: openrouter, api_key: k}")),
            "f.yaml:2: providers.models[0].provider_model_id: missing; \"qwen/qwen3.6-27b\" is "
            "\"Qwen/Qwen3.6-27B\" at one backend and \"qwen/qwen3.6-27b\" at another; expected a "
            "model for each");
}

TEST(Catalogue, a_name_at_the_server_that_is_not_known_is_an_error) {
  EXPECT_EQ(newer_errors(catalogued("catalog: x/unheard-of, backend_refs: [{endpoint: 'h:1'}]")),
            "f.yaml:2: providers.models[0].provider_model_id: missing; the name of "
            "\"x/unheard-of\" at the server is not known here");
  EXPECT_EQ(newer_errors(catalogued("catalog: x/unheard-of, provider_model_id: u, backend_refs: "
                                    "[{endpoint: 'h:1'}]")),
            "accepted");
}

TEST(Catalogue, chats_cannot_name_a_model_that_is_called_like_the_routers_choice) {
  EXPECT_EQ(
      newer_notices("version: v0.3\nproviders: {models: [{name: MoM, backend_refs: [{type: "
                    "echo}]}]}\n"),
      "f.yaml:2: providers.models[0].name: \"MoM\" lets the router choose, so chats cannot name "
      "this model");
}

TEST(Catalogue, an_adapter_may_be_the_default_model) {
  const std::string file = R"(version: v0.3
providers:
  defaults: {model: poet}
  models: [{name: base, provider_model_id: llama, backend_refs: [{endpoint: "h:1"}]}]
routing: {modelCards: [{name: base, loras: [{name: poet}]}]}
)";
  const Config config = newer_config(file);
  ASSERT_EQ(config.providers.models.size(), 2U);
  EXPECT_EQ(config.providers.models[1].name, "poet");
  EXPECT_EQ(config.providers.models[1].provider_model_id, "poet");
  EXPECT_EQ(config.providers.models[1].backend_refs.at(0).host, "h");
  EXPECT_EQ(newer_notices(file),
            "f.yaml:3: the default model \"poet\" is an adapter of \"base\"; it is read as a model "
            "of the same servers");
}

TEST(Catalogue, a_recipe_among_the_models_is_left_out) {
  const std::string file = std::string(kTwoModels) + "    - {name: m, catalog: vllm-sr/mom-v1}\n";
  EXPECT_EQ(newer_config(file).providers.models.size(), 2U);
  EXPECT_EQ(newer_notices(file),
            "f.yaml:7: providers.models[2].catalog: left out: \"vllm-sr/mom-v1\" is a recipe that "
            "comes with the Semantic Router; this router has none of them, so it cannot be "
            "the default model or that of a decision or a request (docs/upstream.md)");
  EXPECT_NE(newer_errors(file + "routing: {decisions: [{name: d, modelRefs: [{model: m}]}]}\n")
                .find("unknown model \"m\""),
            std::string::npos);
}

TEST(Catalogue, a_provider_of_many_publishers_has_only_the_names_that_are_known) {
  const auto name = [](std::string_view provider, std::string_view model) -> std::string {
    const auto loaded = parse(catalogued(fmt::format("catalog: {}, backend_refs: [{{provider: {}, "
                                                     "api_key: k}}]",
                                                     model, provider)),
                              "f.yaml");
    return loaded ? loaded->config.providers.models.at(0).provider_model_id
                  : loaded.error().message;
  };
  const auto unknown = [](std::string_view model) {
    return fmt::format(
        "f.yaml:2: providers.models[0].provider_model_id: missing; the name of \"{}\" at the "
        "server is not known here",
        model);
  };
  EXPECT_EQ(name("openrouter", "openai/gpt-5.5"), "openai/gpt-5.5");
  EXPECT_EQ(name("openrouter", "deepseek/deepseek-v3"), "deepseek/deepseek-chat");
  EXPECT_EQ(name("openrouter", "xai/grok-4"), unknown("xai/grok-4"));
  EXPECT_EQ(name("openrouter", "mistral/mistral-large-3"), unknown("mistral/mistral-large-3"));
  EXPECT_EQ(name("groq", "openai/gpt-oss-20b"), "openai/gpt-oss-20b");
  EXPECT_EQ(name("groq", "openai/gpt-5.5"), unknown("openai/gpt-5.5"));
}

TEST(Catalogue, a_card_may_have_the_name_of_the_catalogue) {
  const Config config = newer_config(
      catalogued("catalog: qwen/qwen3.6-27b, backend_refs: [{endpoint: 'h:1'}]") +
      "routing: {modelCards: [{name: qwen/qwen3.6-27b, context_window_size: 32768}]}\n");
  const auto& cards = config.routing.model_cards;
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(cards[1].name, "m");
  EXPECT_EQ(cards[1].context_window_size, 32768u);
}

TEST(Catalogue, only_a_file_for_envoy_has_models_without_backends) {
  const std::string model = catalogued("catalog: qwen/qwen3.6-27b");
  const std::string envoy = "global: {services: {ext_proc: {enabled: true}}}\n";
  const std::string missing =
      "f.yaml:2: providers.models[0].backend_refs: missing; expected a list of mappings, because "
      "listeners serve clients, and the router calls the servers itself";
  EXPECT_EQ(newer_errors(model), missing);
  EXPECT_EQ(newer_errors(model + envoy + "listeners: [{name: l, port: 1}]\n"), missing);
  const Config config = newer_config(model + envoy);
  ASSERT_EQ(config.providers.models.at(0).backend_refs.size(), 1u);
  EXPECT_TRUE(config.providers.models[0].backend_refs[0].is_envoys);
  EXPECT_EQ(config.providers.models[0].provider_model_id, "m");
  EXPECT_EQ(newer_errors(model + envoy +
                         "routing: {decisions: [{name: d, algorithm: {type: confidence}, "
                         "modelRefs: [{model: m}, {model: m, use_reasoning: true}]}]}\n"),
            "f.yaml:4: decision \"d\": the router itself calls the model \"m\"; expected "
            "backend_refs of this model");
}

TEST(Catalogue, the_router_itself_calls_the_writer_of_a_text_with_an_image) {
  const auto file = [](std::string_view modality, std::string_view refs) {
    return fmt::format(R"(version: v0.3
providers: {{models: [{{name: m}}, {{name: painter}}, {{name: own, backend_refs: [{{type: echo}}]}}], defaults: {{model: m}}}}
global: {{services: {{ext_proc: {{enabled: true}}}}}}
routing:
  modelCards: [{{name: painter, modality: diffusion}}]
  signals: {{modality: [{{name: {0}}}]}}
  decisions:
    - name: d
      rules: {{operator: OR, conditions: [{{type: modality, name: {0}}}]}}
      modelRefs: [{1}]
      plugins: [{{type: image_gen, configuration: {{backend: openai, backend_config: {{api_key: k}}}}}}]
)",
                       modality, refs);
  };
  EXPECT_EQ(newer_errors(file("BOTH", "{model: painter}, {model: m}")),
            "f.yaml:8: decision \"d\": the router itself calls the model \"m\"; expected "
            "backend_refs of this model");
  EXPECT_EQ(newer_errors(file("BOTH", "{model: painter}, {model: own}")), "accepted");
  EXPECT_EQ(newer_errors(file("DIFFUSION", "{model: m}")), "accepted");
}

// --- deployments and bindings ---

constexpr std::string_view kDeployed = R"(global:
  model_catalog:
    external: [{name: guard, model_role: guardrail, llm_endpoint: {address: g, port: 1}}]
    deployments:
      law: {artifact: models/law, provider: ort, device: cpu, precision: native}
      hub: {artifact: owner/Name, provider: model_runtime}
      far: {external_model: guard, provider: http}
)";

std::string bound(std::string_view bindings, std::string_view more = "") {
  return fmt::format("{}{}    bindings: {}\n{}", kTwoModels, kDeployed, bindings, more);
}

TEST(Catalogue, a_binding_gives_a_task_its_model) {
  const Config config = newer_config(
      bound("{domain_classifier: {deployment: law, contract: label_distribution.v1, mapping_path: "
            "m.json}, pii_classifier: {deployment: hub, contract: token_spans.v1}, prompt_guard: "
            "{deployment: far, contract: label_distribution.v1, adapter: http_classify}, "
            "classifier.tone: "
            "{deployment: law, contract: label_distribution.v1}}",
            "routing: {signals: {classifiers: [{name: tone, type: local, labels: [a, b]}]}}\n"));
  const ClassifierModules& modules = config.modules.classifier;
  EXPECT_EQ(modules.domain.model_id, "models/law");
  EXPECT_EQ(modules.domain.mapping_path, "m.json");
  EXPECT_EQ(modules.pii.model_id, "models/Name");
  EXPECT_EQ(config.modules.prompt_guard.variant, kHttpClassify);
  EXPECT_EQ(config.modules.prompt_guard.server, "guard");
  EXPECT_EQ(config.routing.classifiers.at(0).model_path, "models/law");
}

TEST(Catalogue, a_binding_precedes_the_model_of_the_module) {
  const Config config = newer_config(
      bound("{domain_classifier: {deployment: law, contract: label_distribution.v1}}\n"
            "    modules: {classifier: {domain: {model_ref: domain_classifier, threshold: 0.4}}}"));
  EXPECT_EQ(config.modules.classifier.domain.model_id, "models/law");
  EXPECT_EQ(config.modules.classifier.domain.model_ref, "");
  EXPECT_EQ(config.modules.classifier.domain.threshold, 0.4);
}

TEST(Catalogue, a_binding_to_the_usual_embedder_takes_the_place_of_nothing) {
  const std::string file = std::string(kTwoModels) + R"(global:
  model_catalog:
    embeddings: {semantic: {minilm_model_path: /gone, embedding_config: {target_layer: 3}}}
    deployments: {usual: {artifact: /gone, provider: candle}}
    bindings: {embedding: {deployment: usual, contract: embedding.v1}}
)";
  EXPECT_EQ(newer_config(file).embedding_model.target_layer, 3);
  EXPECT_EQ(newer_notices(file).find("there is no model"), std::string::npos);
}

TEST(Catalogue, a_deployment_that_the_router_cannot_call_may_be_left_unused) {
  EXPECT_EQ(newer_notices(std::string(kTwoModels) +
                          "global: {model_catalog: {deployments: {far: {provider: model_runtime, "
                          "endpoint: \"http://r:1\"}}}}\n"),
            "f.yaml:7: global.model_catalog.deployments.far.endpoint: has no effect: the router "
            "calls no such server (docs/upstream.md)");
}

TEST(Catalogue, a_mistaken_binding_is_refused) {
  const auto error = [](std::string_view binding) {
    const std::string all = newer_errors(bound(binding));
    const size_t begin = all.find("bindings.");
    return begin == std::string::npos ? all : all.substr(begin + 9);
  };
  EXPECT_EQ(error("{domain_classifier: {deployment: lwa, contract: label_distribution.v1}}"),
            "domain_classifier: unknown deployment \"lwa\"; did you mean \"law\"?");
  EXPECT_EQ(error("{domain_clasifier: {deployment: law, contract: label_distribution.v1}}"),
            "domain_clasifier: no model has this task; did you mean \"domain_classifier\"?");
  EXPECT_EQ(error("{domain_classifier: {deployment: law, contract: decision.v1}}"),
            "domain_classifier: expected the contract label_distribution.v1, found "
            "\"decision.v1\"");
  EXPECT_EQ(error("{pii_classifier: {deployment: far, contract: token_spans.v1, adapter: "
                  "http_chat}}"),
            "pii_classifier: expected the adapter http_classify, found \"http_chat\"");
  EXPECT_EQ(error("{classifier.tone: {deployment: law, contract: label_distribution.v1}}"),
            "classifier.tone: there is no classifier signal \"tone\"");
  EXPECT_EQ(error("{pii_classifier: {deployment: law, contract: token_spans.v1, head: h}}"),
            "pii_classifier: head is not built; the model directory must have the head");
  EXPECT_EQ(error("{classifier.tone: {deployment: law, contract: label_distribution.v1, "
                  "mapping_path: m.json}}"),
            "classifier.tone: mapping_path is not built for this task; the model names its "
            "classes");
}

TEST(Catalogue, the_routings_of_a_file_share_the_model_of_a_task) {
  const std::string decision = "decisions: [{name: d, modelRefs: [{model: small}]}]";
  const std::string binding =
      "model_bindings: {pii_classifier: {deployment: law, contract: token_spans.v1}}";
  const auto file = [&](std::string_view top, std::string_view recipe) {
    return fmt::format("{}{}routing: {{{}}}\nrecipes: [{{name: r, routing: {{{}}}}}]\n", kTwoModels,
                       kDeployed, top, recipe);
  };
  const std::string both = fmt::format("{}, {}", binding, decision);
  const Config config = newer_config(file(both, both));
  EXPECT_EQ(config.modules.classifier.pii.model_id, "models/law");
  EXPECT_EQ(newer_errors(file("", both)), "accepted") << "the other has no decisions";
  EXPECT_EQ(newer_errors(file(decision, both)),
            "f.yaml:15: recipes[0].routing.model_bindings.pii_classifier: the routings of a file "
            "share one model for each task; expected the same binding in each, or one in "
            "global.model_catalog.bindings");
}

}  // namespace
}  // namespace signalbox::config
