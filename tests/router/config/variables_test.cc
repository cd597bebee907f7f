// Variables of the environment that a configuration names and that are not set.

#include <gtest/gtest.h>
#include <cstdlib>

#include "router/config/load.h"

namespace signalbox::config {
namespace {

std::string notices_about_variables(const std::string& text) {
  const auto loaded = parse(text, "f.yaml");
  if (!loaded) return "refused: " + loaded.error().message;
  std::string all;
  for (const std::string& notice : loaded->notices) all += notice + "\n";
  return all;
}

TEST(ConfigVariables, a_variable_for_a_key_that_is_not_set_gives_a_notice) {
  const std::string file = R"(version: v0.3
providers:
  defaults: {default_model: a}
  models:
    - name: a
      backend_refs:
        - {endpoint: "h:1", api_key_env: SIGNALBOX_TEST_UNSET}
        - {endpoint: "h:2", api_key_env: SIGNALBOX_TEST_SET}
        - {endpoint: "h:3", api_key_env: SIGNALBOX_TEST_UNSET, api_key: k}
        - {type: echo, api_key_env: SIGNALBOX_TEST_UNSET}
routing: {}
global:
  model_catalog:
    embeddings: {semantic: {endpoint: {base_url: "http://h/v1", model: e, api_key_env: SIGNALBOX_TEST_EMPTY}}}
  services:
    management_api:
      auth:
        mode: bearer
        tokens:
          - {env: SIGNALBOX_TEST_SET, role: admin}
          - {env: SIGNALBOX_TEST_UNSET, role: viewer}
)";
  setenv("SIGNALBOX_TEST_SET", "a", 1);
  setenv("SIGNALBOX_TEST_EMPTY", "", 1);
  const std::string found = notices_about_variables(file);
  std::string disabled = file;
  disabled.replace(disabled.find("bearer"), 6, "disabled");
  const std::string without_tokens = notices_about_variables(disabled);
  unsetenv("SIGNALBOX_TEST_SET");
  unsetenv("SIGNALBOX_TEST_EMPTY");
  const std::string keys =
      "f.yaml:7: providers.models[0].backend_refs[0].api_key_env: requests are sent without a key, "
      "because the environment variable SIGNALBOX_TEST_UNSET is not set\n"
      "f.yaml:14: global.model_catalog.embeddings.semantic.endpoint.api_key_env: the server is not "
      "called, because the environment variable SIGNALBOX_TEST_EMPTY is not set\n";
  EXPECT_EQ(without_tokens, keys);
  EXPECT_EQ(found,
            keys +
                "f.yaml:21: global.services.management_api.auth.tokens[1].env: there is no token "
                "for the role \"viewer\", because the environment variable "
                "SIGNALBOX_TEST_UNSET is not set\n");
  const Inspection required = inspect(file, "f.yaml", {.keys_required = true});
  ASSERT_FALSE(required.config);
  EXPECT_EQ(required.config.error().message.substr(0, keys.find('\n')),
            keys.substr(0, keys.find('\n')));
}

}  // namespace
}  // namespace signalbox::config
