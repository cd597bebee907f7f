// Requests that are refused before a model is called: a refused client costs no inference, and a
// request that no model can serve is not sent.

#include <gtest/gtest.h>

#include "tests/router/net/cache_site.h"

namespace signalbox::test {
namespace {

constexpr std::string_view kEmbeds = R"(
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 0, timeout: 20s}
providers:
  defaults: {default_model: m}
  models:
    - {name: m, backend_refs: [{name: a, endpoint: "127.0.0.1:9"}]}
routing:
  signals:
    embeddings:
      - {name: numbers, threshold: 0.5, candidates: ["one two three"]}
    role_bindings:
      - {name: team, role: member, subjects: [{kind: User, name: ada}]}
  decisions:
    - {name: numbers, rules: {type: embedding, name: numbers}, modelRefs: [{model: m}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: 0}
    authz: {fail_open: false}
    ratelimit:
      providers:
        - type: local-limiter
          rules: [{name: each, requests_per_unit: 1, unit: hour}]
)";

constexpr std::string_view kAda = "x-authz-user-id: ada\r\n";

TEST(Admit, refusing_a_limited_or_unknown_client_runs_no_model) {
  const Site site(
      [](Wire& wire, int) {
        wire.read_request();
        wire.send(ok("{}"));
      },
      kEmbeds);
  const int at_start = site.embedded;
  EXPECT_EQ(site.ask("one two four", kAda).status, 200);
  const int understood = site.embedded;
  EXPECT_GT(understood, at_start);

  const Reply limited = site.ask("one two five", kAda);
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(limited.headers.at("x-vsr-response-path"), "rate_limited");
  EXPECT_TRUE(limited.has("retry-after"));
  EXPECT_EQ(site.embedded, understood);

  const Reply stranger = site.ask("one two six");
  EXPECT_EQ(stranger.status, 403);
  EXPECT_EQ(stranger.headers.at("x-vsr-response-path"), "blocked");
  EXPECT_EQ(site.embedded, understood);
}

// One of the two models reads text only and the other has a small context window.
constexpr std::string_view kLimited = R"(
version: v0.3
listeners:
  - {name: http, address: 127.0.0.1, port: 0, timeout: 20s}
providers:
  defaults: {default_model: blind}
  models:
    - {name: blind, backend_refs: [{name: a, type: echo}]}
    - {name: small, backend_refs: [{name: a, endpoint: "127.0.0.1:9"}]}
routing:
  modelCards:
    - {name: blind, modality: text, capabilities: [tools]}
    - {name: small, modality: multimodal, context_window_size: 100, capabilities: [vision]}
  decisions:
    - {name: any, modelRefs: [{model: small}, {model: blind}]}
global:
  services: {management_api: {bind_address: 127.0.0.1, port: 0}}
)";

std::string with_image(std::string_view text) {
  return fmt::format(
      R"({{"model":"auto","messages":[{{"role":"user","content":[{{"type":"text","text":"{}"}},)"
      R"({{"type":"image_url","image_url":{{"url":"data:"}}}}]}}]}})",
      text);
}

TEST(Abilities, unable_models_are_left_out_and_a_request_that_none_can_serve_gets_400) {
  const Site site(
      [](Wire& wire, int) {
        wire.read_request();
        wire.send(ok("{}"));
      },
      kLimited);
  const Reply sees = site.send("/v1/chat/completions", with_image("look"));
  EXPECT_EQ(sees.status, 200) << sees.body;
  EXPECT_EQ(sees.headers.at("x-vsr-selected-model"), "small");
  const std::string prose(4000, 'x');
  const Reply reads = site.ask(prose);
  EXPECT_EQ(reads.status, 200) << reads.body;
  EXPECT_EQ(reads.headers.at("x-vsr-selected-model"), "blind");
  const Reply calls =
      site.ask("hi", {}, false, R"("tools":[{"type":"function","function":{"name":"f"}}],)");
  EXPECT_EQ(calls.headers.at("x-vsr-selected-model"), "blind");

  const Reply nobody = site.send("/v1/chat/completions", with_image(prose));
  EXPECT_EQ(nobody.status, 400) << nobody.body;
  EXPECT_NE(nobody.body.find(R"("code":"no_capable_model")"), std::string::npos) << nobody.body;
  const std::string why = error_message(nobody.body);
  EXPECT_NE(why.find("no model of the request's route can serve it"), std::string::npos) << why;
  EXPECT_NE(why.find("small: its context window has 100 tokens"), std::string::npos) << why;
  EXPECT_NE(why.find("blind: it reads text only, and the request has images"), std::string::npos)
      << why;
}

}  // namespace
}  // namespace signalbox::test
