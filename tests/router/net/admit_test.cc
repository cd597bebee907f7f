// A refused client costs no inference: who asks, and limits without a model, are checked before any
// model runs.

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

TEST(Admit, a_limited_client_and_a_stranger_cost_no_inference) {
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

}  // namespace
}  // namespace signalbox::test
