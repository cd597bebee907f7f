// The configuration as clients see and change it: secrets are masked, and a secret that a client
// sends back masked is kept only for the same server.

#include "router/config/document.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace signalbox::config {
namespace {

std::string shown(std::string_view text) {
  const auto out = show(text, "f.yaml", Syntax::kYaml, false);
  return out ? *out : out.error().message;
}

std::string outcome(const Result<std::string>& result) {
  return result ? *result : "refused: " + result.error().message;
}

bool refused(const Result<std::string>& result, std::string_view where) {
  return !result && result.error().message.find("give the secret again") != std::string::npos &&
         result.error().message.find(where) != std::string::npos;
}

constexpr std::string_view kTwoServers = R"(providers:
  models:
    - name: m
      backend_refs:
        - endpoint: "one:80"
          api_key: first
        - endpoint: "two:80"
          api_key: second
          tls_skip_verify: false
)";

TEST(Document, masks_header_fields_and_all_values_below_a_secret) {
  const auto json = show(
      "add:\n- {name: Authorization, value: Bearer hush}\n- {name: X-Tier, value: plain}\n"
      "credentials: {user: hush, more: [hush]}\n",
      "file", Syntax::kJson, false);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->find("hush"), std::string::npos) << *json;
  EXPECT_NE(json->find("plain"), std::string::npos) << *json;
}

TEST(Document, masks_headers_to_servers_whatever_their_name) {
  const std::string text = shown(
      "backend_refs: [{endpoint: h, extra_headers: {X-Gate: hush, X-Env: \"${GATE}\"}}]\n"
      "looper: {endpoint: \"http://hush@h/\", headers: {X-Gate: hush}}\n");
  EXPECT_EQ(text.find("hush"), std::string::npos) << text;
  EXPECT_NE(text.find("${GATE}"), std::string::npos) << text;
}

TEST(Document, shows_values_that_only_resemble_secrets) {
  for (const char* text :
       {"identity:\n  headers:\n    session: x-session\n", "api_key_env: KEY\n",
        "prompt: see https://a.example/x, or mail me@a.example\n", "api_key: \"${KEY}\"\n"}) {
    EXPECT_EQ(shown(text), text);
  }
  EXPECT_EQ(shown("of: redis://one:1,redis://u:hush@two:1\n").find("hush"), std::string::npos);
}

TEST(Document, is_shown_as_written_if_neither_values_nor_comments_hold_a_secret) {
  for (const char* text : {"a: 1 # as before\n", "# 100 tokens: enough\na: 1\n"}) {
    const auto written = as_written(text, "f.yaml");
    ASSERT_TRUE(written && *written) << text;
    EXPECT_EQ(**written, text);
  }
  for (const char* text :
       {"# api_key: sk-1\na: 1\n", "a: 1  #password=x\n", "#  - \"auth_token\" : x\na: 1\n",
        "# extra_headers: {X: y}\na: 1\n", "# http://u:p@h\na: 1\n", "api_key: x\n"}) {
    const auto written = as_written(text, "f.yaml");
    EXPECT_TRUE(written && !*written) << text;
  }
}

TEST(Document, keeps_a_secret_with_the_address_it_is_for) {
  const auto sent = [](std::string_view list) {
    return patched(kTwoServers,
                   "providers: {models: [{name: m, backend_refs: [" + std::string(list) + "]}]}",
                   "f.yaml");
  };
  const std::string swapped =
      outcome(sent("{endpoint: 'two:80', tls_skip_verify: false, weight: 2, api_key: '********'}, "
                   "{api_key: '********', endpoint: 'one:80'}"));
  const size_t second = swapped.find("second");
  const size_t one = swapped.find("one:80");
  EXPECT_LT(swapped.find("two:80"), second) << swapped;
  EXPECT_LT(second, one) << swapped;
  EXPECT_NE(swapped.find("first"), std::string::npos) << swapped;

  const std::string_view place =
      "f.yaml: providers.models[0].backend_refs[0].api_key: \"********\"";
  for (const char* list : {"{base_url: 'http://evil', api_key: '********'}",
                           "{endpoint: 'evil:80', api_key: '********'}",
                           "{endpoint: 'one:80', base_url: 'http://u:p@evil', api_key: '********'}",
                           "{endpoint: 'two:80', tls_skip_verify: true, api_key: '********'}",
                           "{endpoint: 'two:80', api_key: '********'}",
                           "{name: new, endpoint: 'one:80', api_key: '********'}",
                           "{endpoint: 'one:80', extra_headers: {X: '********'}}"}) {
    const auto result = sent(list);
    EXPECT_TRUE(refused(result, "backend_refs[0].")) << list << "\n" << outcome(result);
  }
  const std::string message = outcome(sent("{endpoint: 'evil:80', api_key: '********'}"));
  EXPECT_NE(message.find(place), std::string::npos) << message;
  EXPECT_TRUE(sent("{endpoint: 'evil:80', api_key: mine}"));
}

TEST(Document, finds_the_secret_of_an_item_by_its_name_or_by_its_other_values) {
  constexpr std::string_view kNamed =
      "l: [{name: a, endpoint: h, api_key: first}, {name: b, endpoint: h, api_key: second}]\n";
  EXPECT_EQ(outcome(patched(kNamed, "l: [{name: b, endpoint: h, api_key: '********'}]", "f.yaml")),
            "l:\n  - name: b\n    endpoint: h\n    api_key: second\n");
  EXPECT_TRUE(refused(patched(kNamed, "l: [{name: b, endpoint: e, api_key: '********'}]", "f.yaml"),
                      "l[0].api_key"));
  constexpr std::string_view kAlike =
      "l: [{endpoint: h, weight: 1, api_key: first}, {endpoint: h, weight: 2, api_key: second}]\n";
  EXPECT_EQ(
      outcome(patched(kAlike, "l: [{endpoint: h, weight: 2, api_key: '********'}]", "f.yaml")),
      "l:\n  - endpoint: h\n    weight: 2\n    api_key: second\n");
  EXPECT_TRUE(refused(
      patched(kAlike, "l: [{endpoint: h, weight: 3, api_key: '********'}]", "f.yaml"), "l[0]"));
  EXPECT_EQ(outcome(patched(kAlike,
                            "l: [{endpoint: h, weight: 3, api_key: '********'}, "
                            "{endpoint: h, weight: 1, api_key: '********'}]",
                            "f.yaml")),
            "l:\n  - endpoint: h\n    weight: 3\n    api_key: second\n"
            "  - endpoint: h\n    weight: 1\n    api_key: first\n");
}

TEST(Document, keeps_a_secret_if_another_value_changes) {
  constexpr std::string_view kPlugins = R"(routing:
  decisions:
    - name: d
      plugins:
        - {type: system_prompt, configuration: {prompt: a}}
        - {type: header_mutation, configuration: {add: [{name: X-Api-Key, value: hush}]}}
)";
  const auto sent = [&](std::string_view plugins) {
    return patched(
        kPlugins,
        "routing: {decisions: [{name: d, priority: 2, plugins: [" + std::string(plugins) + "]}]}",
        "f.yaml");
  };
  for (const char* plugins :
       {"{type: header_mutation, configuration: {delete: [x], add: [{name: X-Api-Key, value: "
        "'********'}]}}",
        "{type: header_mutation, configuration: {add: [{name: X-New, value: a}, {name: X-Api-Key, "
        "value: '********'}]}}, {type: system_prompt, configuration: {prompt: b}}"}) {
    const std::string result = outcome(sent(plugins));
    EXPECT_NE(result.find("value: hush"), std::string::npos) << result;
  }
  const std::string copied =
      outcome(patched("l: [{endpoint: h, api_key: hush}]\n",
                      "l: [{endpoint: h, api_key: '********'}, {endpoint: h, weight: 2, api_key: "
                      "'********'}]",
                      "f.yaml"));
  EXPECT_EQ(copied,
            "l:\n  - endpoint: h\n    api_key: hush\n"
            "  - endpoint: h\n    weight: 2\n    api_key: hush\n");
}

TEST(Document, keeps_no_secret_of_an_older_form_for_another_address) {
  constexpr std::string_view kOlder = R"(vllm_endpoints:
  - {name: e, address: 10.0.0.1, port: 80}
model_config:
  m: {access_key: hush, preferred_endpoints: [e]}
provider_profiles:
  p: {base_url: "http://h", api_key: hush}
)";
  for (const char* change : {"vllm_endpoints: [{name: e, address: evil, port: 80}]",
                             "model_config: {m: {preferred_endpoints: [f]}}",
                             "model_config: {m: {endpoints: [{address: evil}]}}",
                             "provider_profiles: {p: {base_url: \"http://evil\"}}"}) {
    const auto result = patched(kOlder, change, "f.yaml");
    EXPECT_TRUE(refused(result, "")) << change << "\n" << outcome(result);
  }
  EXPECT_TRUE(patched(kOlder, "model_config: {m: {quality_score: 1}}", "f.yaml"));
}

TEST(Document, keeps_no_secret_for_another_address_in_any_section) {
  constexpr std::string_view kStores = R"(global:
  services:
    response_api: {redis: {address: "redis:6379", use_tls: true, password: hush, db: 1}}
  stores:
    vector_store:
      milvus: {connection: {host: milvus, port: 19530, auth: {username: u, password: hush}, tls: {enabled: true}}}
  model_catalog:
    external:
      - {llm_endpoint: {address: guard, port: 80}, access_key: hush, threshold: 0.5}
)";
  const auto patch = [&](std::string_view change) { return patched(kStores, change, "f.yaml"); };
  for (const char* change :
       {"global: {services: {response_api: {redis: {address: \"evil:1\"}}}}",
        "global: {services: {response_api: {redis: {address: \"evil:1\", password: '********'}}}}",
        "global: {services: {response_api: {redis: {use_tls: null}}}}",
        "global: {services: {response_api: {redis: {tls_skip_verify: true}}}}",
        "global: {services: {response_api: {redis: {cluster_addresses: [evil]}}}}",
        "global: {stores: {vector_store: {milvus: {connection: {host: evil}}}}}",
        "global: {stores: {vector_store: {milvus: {connection: {tls: {enabled: false}}}}}}",
        "global: {model_catalog: {external: [{llm_endpoint: {address: evil, port: 80}, "
        "access_key: '********'}]}}"}) {
    const auto result = patch(change);
    EXPECT_TRUE(refused(result, "global.")) << change << "\n" << outcome(result);
  }
  for (const char* change :
       {"global: {services: {response_api: {redis: {db: 2}}}}",
        "global: {services: {response_api: {redis: {address: \"mine:1\", password: mine}}}}",
        "global: {services: {response_api: null}}",
        "listeners: [{name: http, address: 0.0.0.0, port: 1}]",
        "global: {model_catalog: {external: [{access_key: '********', threshold: 0.7, "
        "llm_endpoint: {port: 80, address: guard}}]}}"}) {
    const auto result = patch(change);
    EXPECT_TRUE(result) << change << "\n" << outcome(result);
  }
}

TEST(Document, accepts_its_own_masked_output) {
  for (const std::string_view text :
       {kTwoServers,
        std::string_view("a: {url: \"http://u:hush@h/\", tls: True, api_keys: x, "
                         "tokens: [1], password: hush}\n"),
        std::string_view("credentials: [a, b]\nheaders: {X-Host: h, Y: z}\n")}) {
    for (const Syntax syntax : {Syntax::kYaml, Syntax::kJson}) {
      const auto sent = show(text, "f.yaml", syntax, false);
      ASSERT_TRUE(sent);
      const auto back = replaced(text, *sent, "f.yaml");
      ASSERT_TRUE(back) << outcome(back);
      EXPECT_EQ(*show(*back, "f.yaml", Syntax::kJson, true),
                *show(text, "f.yaml", Syntax::kJson, true));
    }
  }
  EXPECT_FALSE(replaced("credentials: [a, b]\n", "credentials: ['********']\n", "f.yaml"))
      << "which of the two?";
}

TEST(Document, takes_no_aliases_in_a_patch) {
  const auto grown = patched("a: 1\n", "x: &x [1, 2]\ny: [*x, *x]\n", "f.yaml");
  EXPECT_EQ(outcome(grown),
            "refused: f.yaml:2: an alias (*name); expected the value itself, written out");
  EXPECT_TRUE(patched("a: &x [1]\nb: *x\n", "c: 1\n", "f.yaml")) << "the file may have them";
}

TEST(Document, finds_variables_that_a_change_adds) {
  const std::string text = R"(
providers:
  models:
    - {name: a, access_key: "${KEY}", backend_refs: [{endpoint: "a:80"}]}
    - {name: b, backend_refs: [{endpoint: "b:80", api_key_env: OTHER}]}
routing: {decisions: [{name: d, plugins: [{configuration: {message: "${GREETING:-hi}"}}]}]}
)";
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string next = text;
    next.replace(next.find(from), from.size(), to);
    const auto found = new_variables(text, next, "f.yaml");
    EXPECT_TRUE(found);
    return fmt::format("{}", fmt::join(*found, " "));
  };
  EXPECT_EQ(changed("name: d", "name: e"), "");
  EXPECT_EQ(changed("name: a,", "name: c,"), "");
  EXPECT_EQ(changed("\"a:80\"", "\"evil:80\""), "KEY");
  EXPECT_EQ(changed("\"b:80\"", "\"evil:80\""), "OTHER");
  EXPECT_EQ(changed("{endpoint: \"a:80\"}", "{endpoint: \"a:80\"}, {endpoint: \"evil:80\"}"),
            "KEY");
  EXPECT_EQ(changed("${GREETING:-hi}", "${SECRET}"), "SECRET");
  EXPECT_EQ(changed("name: d,", "name: \"${SECRET:-x}\","), "SECRET");
  EXPECT_EQ(changed("OTHER", "SECRET"), "SECRET");
}

}  // namespace
}  // namespace signalbox::config
