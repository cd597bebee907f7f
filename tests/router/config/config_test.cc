// Tests that a good configuration file gives the expected settings, and that a bad one gives clear
// errors.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/yaml.h"
#include "router/config/load.h"
#include "router/config/reader.h"
#include "router/safety/pii/rules.h"

namespace signalbox::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kProviders =
    "providers: {defaults: {default_model: a}, models: [{name: a, backend_refs: [{type: echo}]}, "
    "{name: b, backend_refs: [{type: echo}]}]}";

std::string with_providers(std::string text) {
  const size_t at = text.find("@providers");
  if (at != std::string::npos) text.replace(at, 10, kProviders);
  return text;
}

std::string errors_of(const std::string& text) {
  const auto loaded = parse(with_providers(text), "f.yaml");
  return loaded ? "accepted" : loaded.error().message;
}

Config parse_good(const std::string& text) {
  auto loaded = parse(with_providers(text), "f.yaml");
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? std::move(loaded->config) : Config{};
}

std::string notices_of(const std::string& text) {
  const auto loaded = parse(with_providers(text), "f.yaml");
  if (!loaded) return "refused: " + loaded.error().message;
  std::string all;
  for (const std::string& notice : loaded->notices) all += notice + "\n";
  return all;
}

TEST(Config, refuses_each_broken_file_with_its_message) {
  const auto directory = std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tests/router/config";
  size_t count = 0;
  for (const char* name : {"broken.yaml", "broken_sections.yaml"}) {
    const auto cases = yaml::load(directory / name);
    ASSERT_TRUE(cases) << cases.error().message;
    count += cases->items.size();
    for (const yaml::Node& each : cases->items) {
      const auto loaded = parse(with_providers(each.find("file")->scalar), "f.yaml");
      const yaml::Node* expected = each.find("errors");
      const std::string message = loaded ? "accepted" : loaded.error().message;
      EXPECT_EQ(message, expected == nullptr ? "" : expected->scalar) << each.find("name")->scalar;
    }
  }
  EXPECT_GE(count, 100u);
}

TEST(Config, backends_of_one_model_with_one_name_are_a_notice) {
  constexpr std::string_view kFile = R"(version: v0.3
listeners: [{{name: a, address: 127.0.0.1, port: 1}}]
providers:
  defaults: {{default_model: m}}
  models:
    - name: m
      backend_refs: [{{name: one, endpoint: "h:1"}}, {{name: {}, endpoint: "h:2"}}]
    - {{name: n, backend_refs: [{{name: one, endpoint: "h:1"}}]}}
)";
  EXPECT_EQ(notices_of(fmt::format(kFile, "two")), "");
  EXPECT_EQ(notices_of(fmt::format(kFile, "one")),
            "f.yaml:7: providers.models[0].backend_refs[1].name: \"one\" is the name of another "
            "backend of this model, so logs and metrics do not distinguish them\n");
}

TEST(Config, notices_of_a_file_with_errors_are_kept) {
  const Inspection inspection = inspect(
      with_providers("version: v0.3\n@providers\nlisteners: [{name: x, prot: 1}]\n"), "f.yaml");
  ASSERT_FALSE(inspection.config);
  EXPECT_EQ(inspection.config.error().message,
            "f.yaml:3: listeners[0].port: missing; expected an integer from 0 to 65535");
  EXPECT_EQ(inspection.notices,
            (std::vector<std::string>{
                "f.yaml:3: listeners[0]: unknown key \"prot\"; did you mean \"port\"?"}));
}

TEST(Config, nulls_and_empty_sections_are_as_if_not_given) {
  const Config config = parse_good(R"(version: v0.3
listeners:
@providers
routing:
  strategy:
  modelCards:
  signals:
    keywords: [{name: k, keywords: [w], method: , case_sensitive: }]
    pii:
  projections:
  decisions: [{name: x, description: , rules: , plugins: , algorithm: , modelRefs: }]
recipes:
global:
  router:
  services: {http: , management_api: {port: }}
  stores: {}
)");
  EXPECT_EQ(config.listeners.size(), 1u);
  EXPECT_EQ(config.management.port, 8080);
  EXPECT_TRUE(config.routing.decisions[0].rules.conditions.empty());
  EXPECT_EQ(config.routing.decisions[0].algorithm.type, "static");
}

TEST(Config, a_variable_that_nothing_needs_yet_may_be_unset) {
  ::unsetenv("SIGNALBOX_TEST_UNSET");
  const std::string notices = notices_of(R"(version: v0.3
@providers
global:
  services: {router_replay: {qdrant: {api_key: "${SIGNALBOX_TEST_UNSET}"}}}
)");
  EXPECT_EQ(notices,
            "f.yaml:4: global.services.router_replay.qdrant: has no effect: records are kept in "
            "memory, Redis or PostgreSQL (docs/upstream.md)\n"
            "f.yaml:4: global.services.router_replay.qdrant.api_key: the environment variable "
            "SIGNALBOX_TEST_UNSET is not set\n");
}

TEST(Config, booleans_of_older_yaml_and_whole_decimals_are_read) {
  const Config config = parse_good(R"(version: v0.3
listeners: [{name: x, port: 8801.0}]
@providers
routing: {signals: {keywords: [{name: k, operator: or, keywords: [w], case_sensitive: Yes}],
                    context: [{name: c, min_tokens: '999', max_tokens: 1.5k}]}}
global: {services: {management_api: {enabled: off}}}
)");
  EXPECT_EQ(config.listeners[0].port, 8801);
  EXPECT_TRUE(config.routing.keywords[0].case_sensitive);
  EXPECT_EQ(config.routing.context[0].max_tokens, 1500);
  EXPECT_FALSE(config.management.enabled);
}

TEST(Config, has_a_listener_when_the_file_names_none) {
  const Config config = parse_good("version: v0.3\n@providers\n");
  ASSERT_EQ(config.listeners.size(), 1u);
  EXPECT_EQ(config.listeners[0].port, 8801);
  EXPECT_EQ(config.listeners[0].address, "127.0.0.1");
  EXPECT_EQ(config.source, "f.yaml");
  EXPECT_EQ(config.auto_model_names, (std::vector<std::string>{"auto", "vllm-sr/auto", "MoM"}));
}

TEST(Config, reads_listeners_and_limits) {
  const Config config = parse_good(R"(version: v0.3
listeners: [{name: x, address: "::", port: 0, timeout: "1m30s"}, {name: y, port: 1, timeout: 250ms}]
@providers
global:
  router: {auto_model_name: pick, auto_model_names: [auto, best], strategy: confidence}
  services:
    http: {header_bytes_max: "64KiB", body_bytes_max: 4096, idle_timeout: 1.5s, threads: 3}
    management_api: {enabled: false, port: 9}
  model_catalog:
    embeddings:
      semantic:
        minilm_model_path: m
        embedding_config: {top_k: 0, min_score_threshold: 0.25, enable_soft_matching: TRUE}
)");
  EXPECT_EQ(config.listeners[0].timeout, 90s);
  EXPECT_EQ(config.listeners[1].timeout, 250ms);
  EXPECT_EQ(config.auto_model_names,
            (std::vector<std::string>{"auto", "vllm-sr/auto", "MoM", "pick", "best"}));
  EXPECT_EQ(config.http.header_bytes_max, 65536u);
  EXPECT_EQ(config.http.body_bytes_max, 4096u);
  EXPECT_EQ(config.http.idle_timeout, 1500ms);
  EXPECT_EQ(config.http.threads, 3u);
  EXPECT_FALSE(config.management.enabled);
  EXPECT_EQ(config.embedding_model.path, "m");
  EXPECT_EQ(config.embedding_model.top_k, 0);
  EXPECT_EQ(config.embedding_model.soft_threshold, 0.25);
  EXPECT_TRUE(config.embedding_model.soft_matching);
  EXPECT_EQ(config.routing.strategy, Routing::Strategy::kConfidence);
}

TEST(Config, reads_addresses_of_upstreams) {
  const Config config = parse_good(R"(version: v0.3
providers:
  defaults: {default_model: a}
  models:
    - name: a
      provider_model_id: org/a
      backend_refs:
        - {endpoint: "10.0.0.1:8000", weight: 3, api_key_env: KEY}
        - {name: far, endpoint: host.example, protocol: https}
        - {endpoint: "[2001:db8::1]:8000"}
        - {endpoint: "[::1]"}
        - {base_url: "https://api.example.com/v1"}
        - {base_url: "http://h:1/openai/v1/"}
        - {base_url: "http://[::1]:9/api"}
        - {type: echo}
        - base_url: "https://api.example.com/openai/v1"
          chat_path: /chat/completions
          api_version: "2025-03-01"
          api_key: key
          extra_headers: {X-Tenant: seven}
    - {name: b, backend_refs: [{type: echo}]}
)");
  const Model& a = config.providers.models[0];
  EXPECT_EQ(a.provider_model_id, "org/a");
  EXPECT_EQ(config.providers.models[1].provider_model_id, "b");
  const auto expect = [&](size_t i, std::string_view host, int port, bool tls,
                          std::string_view prefix) {
    const BackendRef& ref = a.backend_refs[i];
    EXPECT_EQ(ref.host, host);
    EXPECT_EQ(ref.port, port) << host;
    EXPECT_EQ(ref.tls, tls) << host;
    EXPECT_EQ(ref.path_prefix, prefix) << host;
  };
  expect(0, "10.0.0.1", 8000, false, "");
  expect(1, "host.example", 443, true, "");
  expect(2, "2001:db8::1", 8000, false, "");
  expect(3, "::1", 80, false, "");
  expect(4, "api.example.com", 443, true, "");
  expect(5, "h", 1, false, "/openai");
  expect(6, "::1", 9, false, "/api");
  // One without a name is called by its address.
  EXPECT_EQ(a.backend_refs[0].name, "10.0.0.1:8000");
  EXPECT_EQ(a.backend_refs[1].name, "far");
  EXPECT_EQ(a.backend_refs[3].name, "[::1]:80");
  EXPECT_EQ(a.backend_refs[4].name, "api.example.com:443");
  EXPECT_EQ(a.backend_refs[0].weight, 3u);
  EXPECT_EQ(a.backend_refs[0].api_key_env, "KEY");
  EXPECT_EQ(a.backend_refs[7].type, "echo");
  expect(8, "api.example.com", 443, true, "/openai");
  EXPECT_EQ(a.backend_refs[8].chat_path, "/openai/v1/chat/completions");
  EXPECT_EQ(a.backend_refs[8].api_version, "2025-03-01");
  EXPECT_EQ(a.backend_refs[8].api_key, "key");
  EXPECT_EQ(a.backend_refs[8].extra_headers.at("X-Tenant"), "seven");
}

TEST(Config, reads_signals_rules_and_decisions) {
  const Config config = parse_good(R"(version: v0.3
@providers
routing:
  strategy: priority
  decisions:
    - name: x
      priority: -5
      rules:
        operator: and
        conditions:
          - {type: keyword, name: k}
          - operator: NOT
            conditions: [{type: embedding, name: e}]
      modelRefs: [{model: b, use_reasoning: true, reasoning_effort: high}]
      plugins:
        - {type: system_prompt, configuration: {mode: insert, system_prompt: "Be exact."}}
        - {type: rag, configuration: {backend: mcp}}
    - {name: y}
  signals:
    keywords: [{name: k, operator: NOR, keywords: [w, 1984], case_sensitive: true}]
    embeddings: [{name: e, threshold: 0.5, aggregation_method: mean, candidates: [c]}]
)");
  const Decision& x = config.routing.decisions[0];
  EXPECT_EQ(x.priority, -5);
  EXPECT_EQ(x.line, 6u);
  ASSERT_EQ(x.rules.conditions.size(), 2u);
  EXPECT_EQ(x.rules.op, Rule::Operator::kAnd);
  EXPECT_EQ(x.rules.conditions[0].op, Rule::Operator::kLeaf);
  EXPECT_EQ(x.rules.conditions[0].name, "k");
  EXPECT_EQ(x.rules.conditions[0].line, 11u);
  EXPECT_EQ(x.rules.conditions[1].op, Rule::Operator::kNot);
  EXPECT_EQ(x.model_refs[0].use_reasoning, true);
  EXPECT_EQ(x.model_refs[0].reasoning_effort, "high");
  EXPECT_EQ(x.system_prompt->mode, SystemPromptPlugin::Mode::kInsert);
  EXPECT_EQ(x.missing_plugins, (std::vector<std::string>{"rag"}));
  EXPECT_TRUE(config.routing.decisions[1].rules.conditions.empty());
  EXPECT_EQ(config.routing.keywords[0].op, KeywordSignal::Operator::kNor);
  EXPECT_EQ(config.routing.keywords[0].keywords[1], "1984");
  EXPECT_TRUE(config.routing.keywords[0].case_sensitive);
  EXPECT_EQ(config.routing.embeddings[0].aggregation, EmbeddingSignal::Aggregation::kMean);
}

TEST(Config, replaces_variables_in_values_it_reads) {
  ::setenv("SIGNALBOX_TEST_PORT", "4711", 1);
  ::setenv("SIGNALBOX_TEST_EMPTY", "", 1);
  ::unsetenv("SIGNALBOX_TEST_UNSET");
  const Config config = parse_good(R"(version: v0.3
listeners:
  - {name: "n-${SIGNALBOX_TEST_PORT}-${SIGNALBOX_TEST_EMPTY:-e}", port: "${SIGNALBOX_TEST_PORT}"}
  - {name: "$${LITERAL} $5", port: "${SIGNALBOX_TEST_UNSET:-12}"}
@providers
routing: {decisions: [{name: x, annotations: {owner: "${SIGNALBOX_TEST_UNSET}"}}]}
)");
  EXPECT_EQ(config.listeners[0].name, "n-4711-e");
  EXPECT_EQ(config.listeners[0].port, 4711);
  EXPECT_EQ(config.listeners[1].name, "${LITERAL} $5");
  EXPECT_EQ(config.listeners[1].port, 12);
}

TEST(Config, reports_unsupported_and_unknown_keys) {
  const std::string text = R"(version: v0.3
@providers
routing:
  signals:
    keyword: []
    domains: [{name: math}]
    pii: []
  decisions:
    - {name: x, rules: {operator: OR, conditions: [{type: domain, name: math}, {type: modality, name: AR}]}}
    - {name: y, algorithm: {type: static}}
    - name: z
      algorithm: {type: ratings}
      modelRefs: [{model: a}, {model: b}]
      plugins:
        - {type: router_replay, configuration: {enabled: false}}
        - {type: tools, configuration: {mode: passthrough}}
        - {type: context_compression, configuration: {recovery: {enabled: true}, targets: {history: {mode: extractive}}}}
global:
  stores: {response_cache: {enabled: false}}
  services: {management_api: {auth: {mode: disabled}}}
zebra: 1
)";
  EXPECT_EQ(
      notices_of(text),
      "f.yaml:5: routing.signals: unknown key \"keyword\"; did you mean \"keywords\"?\n"
      "f.yaml:17: routing.decisions[2].plugins[2].configuration.targets.history.mode: has no "
      "effect: "
      "the text is kept whole (docs/upstream.md)\n"
      "f.yaml:17: routing.decisions[2].plugins[2].configuration.recovery: has no effect: the model "
      "cannot request the omitted text (docs/upstream.md)\n"
      "f.yaml:21: unknown key \"zebra\" (known: version, listeners, providers, global, "
      "routing, entrypoints, "
      "recipes, setup)\n");
  const auto strict = parse(with_providers(text), "f.yaml", {.strict = true});
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message,
            "f.yaml:5: routing.signals: unknown key \"keyword\"; did you mean \"keywords\"?\n"
            "f.yaml:21: unknown key \"zebra\" (known: version, listeners, providers, global, "
            "routing, entrypoints, "
            "recipes, setup)");
}

std::string with_reliability(std::string_view reliability) {
  return fmt::format(
      "version: v0.3\nproviders:\n  defaults: {{default_model: a}}\n  models:\n"
      "    - {{name: b, backend_refs: [{{type: echo}}]}}\n"
      "    - name: a\n      backend_refs: [{{type: echo}}]\n      reliability: {{{}}}\n",
      reliability);
}

TEST(Config, reliability_uses_the_terms_of_envoy) {
  const Config config = parse_good(with_reliability(
      "lb_policy: LEAST_REQUEST, retry_on: \"reset, gateway-error\", fallback_models: [b]"));
  const Reliability& is = *config.providers.find("a")->reliability;
  EXPECT_EQ(is.lb_policy, Reliability::Policy::kLeastRequest);
  EXPECT_EQ(is.retry_on, (RetryOn{false, true, true, true, false}));
  EXPECT_EQ(is.fallback_models, std::vector<std::string>{"b"});
  EXPECT_EQ(is.retry_count, 2U);
  EXPECT_EQ(notices_of(with_reliability("retry_on: \"connect-failure,retriable-4xx\"")),
            "f.yaml:8: providers.models[1].reliability.retry_on: \"retriable-4xx\" has no effect "
            "(known: connect-failure, refused-stream, reset, reset-before-request, "
            "request-timeout, gateway-error, retriable-status-codes, 5xx)\n");
  EXPECT_EQ(notices_of(with_reliability("retry_on: \"reset, retriable-status-codes\"")),
            "f.yaml:8: providers.models[1].reliability.retry_on: retriable-status-codes needs "
            "the key retriable_status_codes\n");
}

TEST(Config, reliability_has_further_statuses_and_the_shorter_time_to_the_first_byte) {
  const auto read = [](std::string_view reliability) {
    return *parse_good(with_reliability(reliability)).providers.find("a")->reliability;
  };
  const Reliability is = read(
      "retry_on: \"retriable-status-codes\", retriable_status_codes: [408, 429], "
      "first_byte_timeout: 2s");
  EXPECT_EQ(is.retry_on.statuses, (std::vector<uint16_t>{408, 429}));
  EXPECT_FALSE(is.retry_on.connect);
  EXPECT_EQ(is.reply_timeout.count(), 2000);
  EXPECT_EQ(read("per_try_timeout: 1s, first_byte_timeout: 2s").reply_timeout.count(), 1000);
  EXPECT_EQ(read("per_try_timeout: 3s, first_byte_timeout: 2s").reply_timeout.count(), 2000);
  for (const std::string_view none : {"200", "700", "429.5", "-1"}) {
    EXPECT_EQ(notices_of(with_reliability(fmt::format("retriable_status_codes: [{}]", none))),
              fmt::format("refused: f.yaml:8: providers.models[1].reliability."
                          "retriable_status_codes: expected statuses from 400 to 599, found {}",
                          none));
  }
}

TEST(Config, a_fallback_is_another_model) {
  constexpr std::string_view kPlace =
      "refused: f.yaml:8: providers.models[1].reliability.fallback_models: ";
  EXPECT_EQ(
      notices_of(with_reliability("fallback_models: [a]")),
      fmt::format("{}expected another model, found the model itself, \"a\" (known: b)", kPlace));
  EXPECT_EQ(notices_of(with_reliability("fallback_models: [other]")),
            fmt::format("{}unknown model \"other\" (known: b)", kPlace));
}

TEST(Config, the_usual_embedder_may_be_named_by_any_key) {
  EXPECT_EQ(notices_of("version: v0.3\n@providers\nglobal:\n  model_catalog:\n    embeddings:\n"
                       "      semantic: {bert_model_path: models/minilm}\n"),
            "");
}

TEST(Config, files_model_needs_exactly_one_server) {
  const auto with_files = [](std::string_view name) {
    return fmt::format(
        "version: v0.3\nproviders:\n  defaults: {{default_model: a}}\n  models:\n"
        "    - {{name: a, backend_refs: [{{type: echo}}]}}\n"
        "    - {{name: b, backend_refs: [{{type: echo}}, {{type: echo}}]}}\n"
        "    - {{name: c, api_format: anthropic, backend_refs: [{{type: echo}}]}}\n"
        "global:\n  api: {{files_model: {}}}\n",
        name);
  };
  EXPECT_EQ(parse_good(with_files("a")).apis.files_model, "a");
  for (const auto& [name, why] : std::vector<std::pair<std::string, std::string>>{
           {"b", "it has several backends, and a file is on one of them only"},
           {"c", "its servers speak another API, which has no files"},
           {"d", "there is no such model"}})
    EXPECT_EQ(notices_of(with_files(name)),
              fmt::format("refused: f.yaml:9: global.api.files_model: \"{}\": {}", name, why));
}

// Each of these keys was once read and never used.
TEST(Config, a_key_without_an_effect_gives_a_notice) {
  const std::string modules = notices_of(R"(version: v0.3
@providers
routing:
  decisions: [{name: d, algorithm: {type: automix, automix: {discount_factor: 0.5}}}]
global:
  model_catalog:
    modules:
      prompt_guard: {variant: mmbert32k, use_cpu: false}
      classifier: {domain: {variant: mmbert32k, use_cpu: true}}
      hallucination_mitigation:
        explainer: {variant: http_classify}
        detector: {backend: onnx, include_explanation: true}
    embeddings: {semantic: {use_cpu: no, embedding_config: {backend: candle}}}
)");
  EXPECT_EQ(
      modules,
      "f.yaml:4: routing.decisions[0].algorithm.automix.discount_factor: has no effect: the "
      "order of the cascade is fixed, so that nothing is discounted (docs/upstream.md)\n"
      "f.yaml:8: global.model_catalog.modules.prompt_guard.use_cpu: has no effect: the router "
      "runs its models on the processor (docs/upstream.md)\n"
      "f.yaml:11: global.model_catalog.modules.hallucination_mitigation.explainer.variant: has no "
      "effect: http_classify: the router runs the model directory itself and calls no server "
      "(docs/upstream.md)\n"
      "f.yaml:12: global.model_catalog.modules.hallucination_mitigation.detector.backend: has "
      "no effect: a model here examines replies (docs/upstream.md)\n"
      "f.yaml:12: global.model_catalog.modules.hallucination_mitigation.detector."
      "include_explanation: has no effect: spans have no explanation (docs/upstream.md)\n"
      "f.yaml:13: global.model_catalog.embeddings.semantic.use_cpu: has no effect: the router "
      "runs its models on the processor (docs/upstream.md)\n");
}

TEST(Config, every_strategy_of_adaptation_has_an_effect) {
  for (const char* each : {"routing_sampling", "linucb", "linear_thompson"}) {
    EXPECT_EQ(notices_of(fmt::format(R"(version: v0.3
@providers
global:
  router: {{learning: {{enabled: true, adaptation: {{strategy: {}}}}}}}
)",
                                     each)),
              "");
  }
}

TEST(Config, a_missing_file_is_named) {
  const auto loaded = load("/nowhere/config.yaml");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kNotFound);
  EXPECT_EQ(loaded.error().message, "/nowhere/config.yaml: No such file or directory");
}

TEST(Config, a_cache_that_no_decision_uses_gives_a_notice) {
  const auto with = [](std::string_view store, std::string_view plugins) {
    return notices_of(fmt::format(R"(version: v0.3
providers: {{defaults: {{default_model: a}}, models: [{{name: a, backend_refs: [{{type: echo}}]}}]}}
routing: {{decisions: [{{name: d, modelRefs: [{{model: a}}], plugins: [{}]}}]}}
global:
  stores: {{{}}}
)",
                                  plugins, store));
  };
  EXPECT_EQ(with("semantic_cache: {enabled: true}", ""),
            "f.yaml:5: global.stores.semantic_cache: has no effect; no decision has the plugin "
            "response_cache, so every request reaches its model\n");
  EXPECT_EQ(with("response_cache: {enabled: true}", "{type: semantic-cache}"), "");
  EXPECT_EQ(with("response_cache: {enabled: false}", ""), "");
  EXPECT_EQ(with("response_cache: {max_entries: 7}", ""), "") << "nobody has asked for it";
}

TEST(Config, a_type_of_personal_data_that_no_built_in_finder_finds_gives_a_notice) {
  constexpr std::string_view kNone = "neither rules nor built-in models find ";
  constexpr std::string_view kOwn = "; a model of your own can";
  const std::string known = fmt::format(" (known: {})", join(known_pii_types()));
  const auto with = [](std::string_view masked, std::string_view allowed, std::string_view seen) {
    return notices_of(fmt::format(R"(version: v0.3
providers:
  defaults: {{default_model: a}}
  models: [{{name: a, backend_refs: [{{type: echo}}], pii_policy: {{pii_types_allowed: [{}]}}}}]
routing:
  signals: {{pii: [{{name: p, pii_types_allowed: [{}]}}]}}
  decisions:
    - name: d
      modelRefs: [{{model: a}}]
      plugins: [{{type: pii_mask, configuration: {{types: [{}]}}}}]
)",
                                  seen, allowed, masked));
  };
  EXPECT_EQ(with("EMAIL_ADDRESS, person, Api_Key", "GPE, zip_code", "NRP"), "");
  EXPECT_EQ(with("EMAIL", "", ""),
            fmt::format("f.yaml:10: routing.decisions[0].plugins[0].configuration.types[0]: "
                        "{}\"EMAIL\"{}{}\n",
                        kNone, kOwn, known));
  EXPECT_EQ(with("PERSON, email_adress", "", ""),
            fmt::format("f.yaml:10: routing.decisions[0].plugins[0].configuration.types[1]: "
                        "{}\"email_adress\"{}; did you mean \"EMAIL_ADDRESS\"?\n",
                        kNone, kOwn));
  EXPECT_EQ(with("", "PERSONS", "PHONE"),
            fmt::format("f.yaml:4: providers.models[0].pii_policy.pii_types_allowed[0]: "
                        "{0}\"PHONE\"{1}{2}\n"
                        "f.yaml:6: routing.signals.pii[0].pii_types_allowed[0]: {0}\"PERSONS\"{1}; "
                        "did you mean \"PERSON\"?\n",
                        kNone, kOwn, known));
}

TEST(Config, lists_the_types_of_personal_data_that_rules_find_and_models_learn) {
  std::set<std::string> expected;
  for (const std::string_view type : pii::pii_rule_types()) expected.emplace(type);
  std::ifstream file(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "tools/train/corpus.py");
  const std::string corpus(std::istreambuf_iterator<char>(file), {});
  constexpr std::string_view kBegin = "\nPII_TYPES = [";
  size_t at = corpus.find(kBegin);
  ASSERT_NE(at, std::string::npos);
  const size_t end = corpus.find(']', at);
  while ((at = corpus.find('"', at)) < end) {
    const size_t close = corpus.find('"', at + 1);
    expected.insert(corpus.substr(at + 1, close - at - 1));
    at = close + 1;
  }
  const auto known = known_pii_types();
  EXPECT_EQ(std::set<std::string>(known.begin(), known.end()), expected);
}

TEST(Config, a_misspelt_section_is_an_error_that_suggests_the_right_name) {
  EXPECT_NE(errors_of("version: v0.3\n@providers\nrouting:\n  decision: [{name: d}]\n")
                .find("f.yaml:4: routing: unknown key \"decision\"; did you mean \"decisions\"?"),
            std::string::npos);
  EXPECT_EQ(errors_of("version: v0.3\n@providers\nrouting:\n  decision: 1\n  verdicts: [{name: "
                      "d}]\n  x: [y]\n"),
            "accepted")
      << "nothing stands in the one, and the others may be for another program";
}

TEST(Config, a_section_of_the_top_that_is_indented_is_an_error) {
  EXPECT_EQ(errors_of("version: v0.3\n@providers\nglobal:\n  router: {}\n  routing:\n"
                      "    decisions: [{name: d}]\n"),
            "f.yaml:5: global: unknown key \"routing\"; `routing:` stands at the top of the file, "
            "without spaces in front");
  EXPECT_EQ(errors_of("version: v0.3\n@providers\nglobal:\n  router: {}\n  routing:\n  decisions: "
                      "[{name: d}]\n"),
            "f.yaml:5: global: unknown key \"routing\"; `routing:` stands at the top of the file, "
            "without spaces in front")
      << "only its first line is indented";
  EXPECT_EQ(errors_of("version: v0.3\n@providers\nrouting:\n  routing: 1\n"), "accepted")
      << "nothing is lost with it";
}

TEST(Config, messages_show_variables_by_name_and_no_password) {
  const std::string key = "sk-" + std::string(80, 'x') + "end";
  ::setenv("SIGNALBOX_TEST_KEY", key.c_str(), 1);
  ::setenv("SIGNALBOX_TEST_SHORT", "qq", 1);
  const std::string errors = errors_of(
      "version: v0.3\n"
      "listeners: [{name: x, port: \"${SIGNALBOX_TEST_KEY}\"}]\n"
      "providers:\n"
      "  defaults: {default_model: \"${SIGNALBOX_TEST_KEY}\"}\n"
      "  models:\n"
      "    - name: \"m-${SIGNALBOX_TEST_SHORT}\"\n"
      "      backend_refs:\n"
      "        - {endpoint: \"h:1\", chat_path: \"${SIGNALBOX_TEST_SHORT}\"}\n"
      "        - base_url: htp://user:PASSWD@h/v1\n"
      "        - base_url: http://user:PASSWD@h:x/v1\n"
      "        - {endpoint: \"h:1\", weight: \"http://user:PASSWD@h\"}\n");
  EXPECT_EQ(errors.find("sk-x"), std::string::npos) << errors;
  EXPECT_EQ(errors.find("\"qq\""), std::string::npos) << errors;
  EXPECT_EQ(errors.find("PASSWD"), std::string::npos) << errors;
  EXPECT_NE(errors.find("unknown model \"${SIGNALBOX_TEST_KEY}\""), std::string::npos) << errors;
  EXPECT_NE(errors.find("found \"${SIGNALBOX_TEST_KEY}\""), std::string::npos) << errors;
  EXPECT_NE(errors.find("found \"${SIGNALBOX_TEST_SHORT}\""), std::string::npos) << errors;
  EXPECT_NE(errors.find("\"htp://********@h/v1\""), std::string::npos) << errors;
}

}  // namespace
}  // namespace signalbox::config
